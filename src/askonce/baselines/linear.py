"""Baselines that learn one weight per feature of a pair: word overlap, and the SVM of Lei et al.

scikit-learn and torch take seconds to import, so they are imported where something is fitted.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from askonce.baselines import BASELINES
from askonce.baselines.base import Baseline, Material
from askonce.baselines.lexical import BM25, VARIANTS
from askonce.baselines.word_vectors import IdfWordVectors
from askonce.training.sampling import drawn_in_order
from askonce.types import Pool

if TYPE_CHECKING:
    from sklearn.svm import LinearSVC

MAX_POOLS = 2000  # labelled questions, enough for a few weights


class LinearBaseline(Baseline):
    """Standardises features within each pool and fits a linear classifier on the training pairs.

    Within the pool, because only the order there matters: a long question raises BM25 for all its
    candidates.
    """

    seeded = True

    @abstractmethod
    def features(self, material: Material) -> Callable[[Pool], np.ndarray]:
        """A function that gives the values (n, F) of each candidate of a pool."""

    @staticmethod
    @abstractmethod
    def untrained(features: np.ndarray) -> np.ndarray:
        """Scores when there are no labels to learn from."""

    def classifier(self, seed: int) -> Any:  # noqa: ANN401 - any scikit-learn classifier
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(class_weight="balanced", random_state=seed, max_iter=1000)

    def fit(self, material: Material) -> None:
        self._features = self.features(material)
        pools = drawn_in_order(material.pools("train"), MAX_POOLS, material.seed)
        labels = np.concatenate([np.asarray(p.labels) > 0 for p in pools] or [np.zeros(0, bool)])
        self._model: Any = None
        if labels.any() and not labels.all():
            pairs = np.concatenate([_standardised(self._features(pool)) for pool in pools])
            self._model = self.classifier(material.seed).fit(pairs, labels)

    def score(self, pool: Pool) -> np.ndarray:
        features = self._features(pool)
        if self._model is None:
            return self.untrained(features)
        return np.asarray(self._model.decision_function(_standardised(features)))


@BASELINES.add("overlap", "word-overlap")
class WordOverlap(LinearBaseline):
    """Logistic regression over the four word-overlap features of Severyn & Moschitti."""

    def features(self, material: Material) -> Callable[[Pool], np.ndarray]:
        from askonce.models.layers.overlap_features import OverlapFeatures

        return OverlapFeatures(material.lexicon)

    @staticmethod
    def untrained(features: np.ndarray) -> np.ndarray:
        """Without labels: the idf-weighted share of common words."""
        return features[:, 1]


@BASELINES.add("svm", "linear-svm")
class LinearSvm(LinearBaseline):
    """Linear SVM over BM25, six TF-IDF cosines, the word-vector cosine, word overlap and length."""

    def features(self, material: Material) -> Callable[[Pool], np.ndarray]:
        """One column per similarity, four of overlap, and the log of the candidate's length."""
        from askonce.models.layers.overlap_features import OverlapFeatures

        kinds: list[type[Baseline]] = [BM25, *VARIANTS, IdfWordVectors]
        similarities = [kind() for kind in kinds]
        for similarity in similarities:
            similarity.fit(material)
        overlap = OverlapFeatures(material.lexicon)

        def columns(pool: Pool) -> np.ndarray:
            scores = [similarity.score(pool) for similarity in similarities]
            lengths = [len(material.words(post.text)) for post in pool.candidates]
            return np.column_stack([*scores, overlap(pool), np.log1p(lengths)])  # (n, 13)

        return columns

    @staticmethod
    def untrained(features: np.ndarray) -> np.ndarray:
        return features[:, 0]

    def classifier(self, seed: int) -> "LinearSVC":
        """Squared hinge in the primal, since there are far more pairs than features."""
        from sklearn.svm import LinearSVC

        return LinearSVC(C=0.1, class_weight="balanced", dual=False, random_state=seed)


def _standardised(features: np.ndarray) -> np.ndarray:
    return (features - features.mean(0)) / (features.std(0) + 1e-6)
