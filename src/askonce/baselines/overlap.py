"""The four word-overlap features, as a ranker of their own."""

import numpy as np
import torch

from askonce.baselines import BASELINES
from askonce.baselines.base import Material
from askonce.baselines.linear import LinearBaseline
from askonce.models.base import EmbeddingInit
from askonce.models.layers.words import Overlap
from askonce.text.batch import Batch, TokenIds
from askonce.types import Pool, Post


class OverlapFeatures:
    """The overlap features of a pool's candidates, by the layer that pair models use."""

    def __init__(self, material: Material, layer: type[Overlap] = Overlap) -> None:
        self._lexicon = material.lexicon
        size = len(self._lexicon.vocabulary)
        self._layer = layer(
            EmbeddingInit.of(self._lexicon.vocabulary, np.zeros((size, 1), np.float32))
        )
        self._token_ids: dict[str, TokenIds] = {}

    def __call__(self, pool: Pool) -> np.ndarray:
        candidates = Batch([self._ids(post) for post in pool.candidates]).text
        query = Batch([self._lexicon.numbers(pool.query)]).text
        rows = torch.zeros(len(candidates), dtype=torch.long)
        return self._layer(query.select(rows), candidates).numpy()  # (n, F)

    def _ids(self, post: Post) -> TokenIds:
        if post.id not in self._token_ids:
            self._token_ids[post.id] = self._lexicon.numbers(post)
        return self._token_ids[post.id]


@BASELINES.add("overlap", "word-overlap")
class WordOverlap(LinearBaseline):
    """Logistic regression over the four word-overlap features of Severyn & Moschitti."""

    def prepare(self, material: Material) -> None:
        self._features = OverlapFeatures(material)

    def features(self, pool: Pool) -> np.ndarray:
        return self._features(pool)

    @staticmethod
    def untrained(features: np.ndarray) -> np.ndarray:
        """Without labels: the idf-weighted share of common words."""
        return features[:, 1]
