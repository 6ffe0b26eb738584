"""The four word-overlap features, as a ranker of their own."""

import numpy as np
import torch

from askonce.baselines import BASELINES
from askonce.baselines.base import Baseline, Material
from askonce.baselines.linear import LinearBaseline
from askonce.models.base import EmbeddingInit
from askonce.models.layers.words import Overlap
from askonce.text.batch import Batch, TokenIds
from askonce.types import Pool, Post


class OverlapFeatures:
    """The overlap features of a pool's candidates, by the very layer that pair models use."""

    def __init__(self, material: Material, layer: type[Overlap] = Overlap) -> None:
        self._lexicon = material.lexicon
        size = len(self._lexicon.vocabulary)
        self._layer = layer(
            EmbeddingInit.of(self._lexicon.vocabulary, np.zeros((size, 1), np.float32))
        )
        self._kept: dict[str, TokenIds] = {}

    def __call__(self, pool: Pool) -> np.ndarray:
        """The layer's values for each candidate."""
        candidates = Batch([self._numbers(post) for post in pool.candidates]).text
        query = Batch([self._lexicon.numbers(pool.query)]).text
        rows = torch.zeros(len(candidates), dtype=torch.long)
        return self._layer(query.select(rows), candidates).numpy()  # (n, F)

    def _numbers(self, post: Post) -> TokenIds:
        if post.id not in self._kept:
            self._kept[post.id] = self._lexicon.numbers(post)
        return self._kept[post.id]


@BASELINES.add("overlap", "word-overlap")
class WordOverlap(LinearBaseline):
    """Logistic regression over the four word-overlap features of Severyn & Moschitti."""

    def prepare(self, material: Material) -> None:
        """Count document frequencies."""
        self._features = OverlapFeatures(material)

    def features(self, pool: Pool) -> np.ndarray:
        """The four features."""
        return self._features(pool)

    @staticmethod
    def untrained(features: np.ndarray) -> np.ndarray:
        """Without labels: the idf-weighted share of common words."""
        return features[:, 1]


__all__ = ["Baseline", "OverlapFeatures", "WordOverlap"]
