"""The linear SVM re-ranker over similarity features that Lei et al. compare with."""

from typing import TYPE_CHECKING

import numpy as np

from askonce.baselines import BASELINES
from askonce.baselines.base import Baseline, Material
from askonce.baselines.lexical import BM25, VARIANTS
from askonce.baselines.linear import LinearBaseline
from askonce.baselines.word_vectors import IdfWordVectors
from askonce.types import Pool

if TYPE_CHECKING:
    from sklearn.svm import LinearSVC


@BASELINES.add("svm", "linear-svm")
class LinearSvm(LinearBaseline):
    """Linear SVM over BM25, six TF-IDF cosines, the word-vector cosine, word overlap and length."""

    def prepare(self, material: Material) -> None:
        from askonce.models.layers.overlap_features import OverlapFeatures

        kinds: list[type[Baseline]] = [BM25, *VARIANTS, IdfWordVectors]
        self._similarities = [kind() for kind in kinds]
        for similarity in self._similarities:
            similarity.fit(material)
        self._overlap = OverlapFeatures(material.lexicon)
        self._words = material.words

    def features(self, pool: Pool) -> np.ndarray:
        """One column per similarity, four of overlap, and the log of the candidate's length."""
        columns = [similarity.score(pool) for similarity in self._similarities]
        lengths = [len(self._words(post.text)) for post in pool.candidates]
        return np.column_stack([*columns, self._overlap(pool), np.log1p(lengths)])  # (n, 13)

    @staticmethod
    def untrained(features: np.ndarray) -> np.ndarray:
        return features[:, 0]

    def classifier(self, seed: int) -> "LinearSVC":
        """Squared hinge in the primal, since there are far more pairs than features."""
        from sklearn.svm import LinearSVC

        return LinearSVC(C=0.1, class_weight="balanced", dual=False, random_state=seed)
