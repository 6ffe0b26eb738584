"""Rankers as models of MTEB 2: encoders, and pair models for re-ranking."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from askonce.adapters.common import RankerOrFolder, RankerSimilarity, as_ranker
from askonce.errors import needing
from askonce.key_encoders import fingerprint
from askonce.ranker import Ranker, Text
from askonce.types import Post

with needing("mteb", "evaluation by MTEB"):
    from mteb.models.model_meta import ModelMeta, ScoringFunction

Batches = Iterable[Mapping[str, Sequence[str]]]  # what MTEB's loaders give


class AskonceEncoder(RankerSimilarity):
    """An encoder for text tasks: mteb.evaluate(AskonceEncoder(folder), tasks)."""

    def __init__(self, ranker: RankerOrFolder) -> None:
        self._ranker = as_ranker(ranker)
        size = len(self.ranker.encode(""))
        self.mteb_model_meta = _meta(
            self.ranker, "dense", embed_dim=size, similarity_fn_name=ScoringFunction.CUSTOM
        )

    @property
    def ranker(self) -> Ranker:
        return self._ranker

    def encode(self, inputs: Batches, **options: Any) -> np.ndarray:
        return self.ranker.encode(list(_texts(inputs)), **_known(options))  # (n, D)


class AskonceCrossEncoder:
    """Any ranker, pair models included, for re-ranking tasks."""

    def __init__(self, ranker: RankerOrFolder) -> None:
        self.ranker = as_ranker(ranker)
        self.mteb_model_meta = _meta(self.ranker, "cross-encoder")

    def predict(self, inputs1: Batches, inputs2: Batches, **options: Any) -> np.ndarray:
        pairs = list(zip(_texts(inputs1), _texts(inputs2), strict=True))
        return self.ranker.predict(pairs, **_known(options))  # (n,)


def _texts(batches: Batches) -> Iterator[Text]:
    """Documents keep their title apart, for models that read title and body."""
    for batch in batches:
        if "title" in batch and "body" in batch:
            for title, body in zip(batch["title"], batch["body"], strict=True):
                yield Post(id="", title=title or "", body=body)
        else:
            yield from batch["text"]


def _known(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: options[key] for key in ("batch_size", "show_progress_bar") if key in options}


def _meta(ranker: Ranker, kind: str, **more: Any) -> ModelMeta:
    words = ranker.model.get_parameter("words.weight").numel()
    described = {
        "name": f"askonce/{ranker.name}",
        "revision": fingerprint(ranker),  # else MTEB shows cached results of an older one
        "n_parameters": ranker.model.trainable_parameters() + words,
        "n_embedding_parameters": words,
        "framework": ["PyTorch"],
        "model_type": [kind],
        "use_instructions": False,
    }
    return ModelMeta.create_empty(described | more)
