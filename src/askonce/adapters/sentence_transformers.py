"""A ranker as a sentence-transformers model, for its evaluators, its losses and what uses them."""

from collections.abc import Sequence
from typing import Any, cast

from askonce.adapters.common import RankerOrFolder, RankerSimilarity, as_ranker
from askonce.errors import needing
from askonce.ranker import Ranker

with needing("minilm", "a sentence-transformers model"):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import InputModule

HUB_OPTIONS = ("subfolder", "token", "cache_folder", "revision", "local_files_only")


class AskonceModule(InputModule):
    """Texts in, the vectors of a ranker's encoder out; its folder is the ranker's."""

    def __init__(self, ranker: Ranker) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ranker = ranker
        self.encoder = ranker.encoder  # a submodule, so that it moves and trains with the rest

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **_: Any
    ) -> dict[str, Any]:
        texts = [(prompt or "") + text for text in inputs]
        return {"numbers": self.ranker.lexicon.read(texts)}

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        batch = self.ranker.batch(features["numbers"])
        return features | {"sentence_embedding": self.encoder.encode(batch)}  # (B, D)

    def get_embedding_dimension(self) -> int:
        return len(self.ranker.encode(""))

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        self.ranker.save(output_path)

    @classmethod
    def load(cls, model_name_or_path: str, *_: Any, **options: Any) -> "AskonceModule":
        where = {name: options[name] for name in HUB_OPTIONS if name in options}
        folder = cls.load_dir_path(model_name_or_path, **where)
        return cls(Ranker.load(folder or model_name_or_path))


class AskonceSentenceTransformer(RankerSimilarity, SentenceTransformer):
    """An encoder as a SentenceTransformer whose ``similarity`` is the ranker's own.

    sentence-transformers has no name for HyperQA's distance, so pass evaluators that take a
    function ``similarity_fct=model.similarity``.
    """

    def __init__(self, ranker: RankerOrFolder, **options: Any) -> None:
        super().__init__(modules=[AskonceModule(as_ranker(ranker))], **options)

    @property
    def ranker(self) -> Ranker:
        return cast(AskonceModule, self[0]).ranker
