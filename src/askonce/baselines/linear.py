"""Baselines that learn one weight per feature of a (query, candidate) pair.

scikit-learn and torch take seconds to import, so they are imported where something is fitted.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from askonce.baselines.base import Baseline, Material
from askonce.types import Pool

MAX_POOLS = 2000  # labelled questions, enough for a few weights


class LinearBaseline(Baseline):
    """Standardises features within each pool and fits a linear classifier on the training pairs.

    Within the pool, because only the order there matters: a long question raises BM25 for all its
    candidates.
    """

    seeded = True

    @abstractmethod
    def prepare(self, material: Material) -> None: ...

    @abstractmethod
    def features(self, pool: Pool) -> np.ndarray:
        """Values of each candidate (n, F)."""

    @staticmethod
    @abstractmethod
    def untrained(features: np.ndarray) -> np.ndarray:
        """Scores when there are no labels to learn from."""

    def classifier(self, seed: int) -> Any:  # noqa: ANN401 - any scikit-learn classifier
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(class_weight="balanced", random_state=seed, max_iter=1000)

    def fit(self, material: Material) -> None:
        self.prepare(material)
        pools = _sample(material.pools("train"), material.seed)
        labels = np.concatenate([np.asarray(p.labels) > 0 for p in pools] or [np.zeros(0, bool)])
        self._model: Any = None
        if labels.any() and not labels.all():
            pairs = np.concatenate([_standardised(self.features(pool)) for pool in pools])
            self._model = self.classifier(material.seed).fit(pairs, labels)

    def score(self, pool: Pool) -> np.ndarray:
        features = self.features(pool)
        if self._model is None:
            return self.untrained(features)
        return np.asarray(self._model.decision_function(_standardised(features)))


def _standardised(features: np.ndarray) -> np.ndarray:
    return (features - features.mean(0)) / (features.std(0) + 1e-6)


def _sample(pools: Sequence[Pool], seed: int) -> list[Pool]:
    if len(pools) <= MAX_POOLS:
        return list(pools)
    chosen = np.random.default_rng(seed).choice(len(pools), MAX_POOLS, replace=False)
    return [pools[i] for i in sorted(chosen)]
