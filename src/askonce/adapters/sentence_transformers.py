"""A ranker as a sentence-transformers model, for its evaluators, its losses and what uses them."""

from collections.abc import Sequence
from typing import Any, cast

from torch import Tensor

from askonce.adapters import similarity
from askonce.adapters.loading import RankerOrFolder, load
from askonce.errors import MissingExtra
from askonce.ranker import Ranker

try:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import InputModule
except ModuleNotFoundError as error:
    raise MissingExtra(str(error.name), "minilm", "a sentence-transformers model") from error

PLACE = ("subfolder", "token", "cache_folder", "revision", "local_files_only")


class AskonceModule(InputModule):
    """Texts in, the vectors of a ranker's encoder out; its folder is the ranker's."""

    def __init__(self, ranker: Ranker) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ranker = ranker
        self.encoder = ranker.encoder  # one of our modules, so it moves and trains with the rest

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **_: Any
    ) -> dict[str, Any]:
        """Word codes of each text."""
        line = self.ranker.lexicon.line
        return {"numbers": [line((prompt or "") + text) for text in inputs]}

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Add the vector of each text."""
        batch = self.ranker.batch(features["numbers"])
        return features | {"sentence_embedding": self.encoder.encode(batch)}  # (B, D)

    def get_embedding_dimension(self) -> int:
        """The length of a vector."""
        return len(self.ranker.encode(""))

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Write the ranker's folder."""
        self.ranker.save(output_path)

    @classmethod
    def load(cls, model_name_or_path: str, *_: Any, **options: Any) -> "AskonceModule":
        """Read a ranker's folder, here or on a hub."""
        where = {name: options[name] for name in PLACE if name in options}
        folder = cls.load_dir_path(model_name_or_path, **where)
        return cls(Ranker.load(folder or model_name_or_path))


class AskonceSentenceTransformer(SentenceTransformer):
    """An encoder as a SentenceTransformer whose ``similarity`` is the ranker's own.

    The names that sentence-transformers has for similarities do not include HyperQA's distance, so
    give evaluators that take a function ``similarity_fct=model.similarity``.
    """

    def __init__(self, ranker: RankerOrFolder, **options: Any) -> None:
        super().__init__(modules=[AskonceModule(load(ranker))], **options)

    @property
    def ranker(self) -> Ranker:
        """The ranker inside."""
        return cast(AskonceModule, self[0]).ranker

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """Score of every vector of the first with every one of the second (n, m)."""
        return similarity.similarity(self.ranker, embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """Score of each vector of the first with the one in the same place of the second (n,)."""
        return similarity.similarity_pairwise(self.ranker, embeddings1, embeddings2)
