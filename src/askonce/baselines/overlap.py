"""The four word-overlap features, as a ranker of their own."""

import numpy as np

from askonce.baselines import BASELINES
from askonce.baselines.base import Material
from askonce.baselines.linear import LinearBaseline
from askonce.types import Pool


@BASELINES.add("overlap", "word-overlap")
class WordOverlap(LinearBaseline):
    """Logistic regression over the four word-overlap features of Severyn & Moschitti."""

    def prepare(self, material: Material) -> None:
        from askonce.models.layers.overlap_features import OverlapFeatures

        self._features = OverlapFeatures(material.lexicon)

    def features(self, pool: Pool) -> np.ndarray:
        return self._features(pool)

    @staticmethod
    def untrained(features: np.ndarray) -> np.ndarray:
        """Without labels: the idf-weighted share of common words."""
        return features[:, 1]
