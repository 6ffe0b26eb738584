"""Rankers as MTEB 2 evaluates models: encoders, and pair models for re-ranking."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from askonce.adapters import similarity
from askonce.adapters.loading import RankerOrFolder, load
from askonce.errors import MissingExtra
from askonce.key_encoders import fingerprint
from askonce.ranker import Ranker, Text
from askonce.types import Post

try:
    from mteb.models.model_meta import ModelMeta, ScoringFunction
except ModuleNotFoundError as error:
    raise MissingExtra(str(error.name), "mteb", "evaluation by MTEB") from error

Batches = Iterable[Mapping[str, Sequence[str]]]  # what MTEB's loaders give


class AskonceEncoder:
    """An encoder for every task of texts: mteb.evaluate(AskonceEncoder(folder), tasks)."""

    def __init__(self, ranker: RankerOrFolder) -> None:
        self.ranker = load(ranker)
        size = len(self.ranker.encode(""))
        self.mteb_model_meta = _meta(
            self.ranker, "dense", embed_dim=size, similarity_fn_name=ScoringFunction.CUSTOM
        )

    def encode(self, inputs: Batches, **options: Any) -> np.ndarray:
        """One vector per text."""
        return self.ranker.encode(list(_texts(inputs)), **_known(options))  # (n, D)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """Score of every vector of the first with every one of the second (n, m)."""
        return similarity.similarity(self.ranker, embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """Score of each vector of the first with the one in the same place of the second (n,)."""
        return similarity.similarity_pairwise(self.ranker, embeddings1, embeddings2)


class AskonceCrossEncoder:
    """Any ranker for tasks that re-rank, pair models among them."""

    def __init__(self, ranker: RankerOrFolder) -> None:
        self.ranker = load(ranker)
        self.mteb_model_meta = _meta(self.ranker, "cross-encoder")

    def predict(self, inputs1: Batches, inputs2: Batches, **options: Any) -> np.ndarray:
        """The score of each query with the document in the same place."""
        pairs = list(zip(_texts(inputs1), _texts(inputs2), strict=True))
        return self.ranker.predict(pairs, **_known(options))  # (n,)


def _texts(batches: Batches) -> Iterator[Text]:
    """Documents that have a title keep it apart, as models that read both views need it."""
    for batch in batches:
        if "title" in batch and "body" in batch:
            for title, body in zip(batch["title"], batch["body"], strict=True):
                yield Post(id="", title=title or "", body=body)
        else:
            yield from batch["text"]


def _known(options: Mapping[str, Any]) -> dict[str, Any]:
    """Of what MTEB passes on, the names of the task and the prompt mean nothing to us."""
    return {key: options[key] for key in ("batch_size", "show_progress_bar") if key in options}


def _meta(ranker: Ranker, kind: str, **more: Any) -> ModelMeta:
    words = ranker.model.get_parameter("words.weight").numel()
    described = {
        "name": f"askonce/{ranker.name}",
        "revision": fingerprint(ranker),  # else MTEB shows the kept results of an older one
        "n_parameters": ranker.model.trainable_parameters() + words,
        "n_embedding_parameters": words,
        "framework": ["PyTorch"],
        "model_type": [kind],
        "use_instructions": False,
    }
    return ModelMeta.create_empty(described | more)
