"""Two rows that read no text: chance, and the scores that came with the data."""

import numpy as np

from askonce.baselines import BASELINES
from askonce.baselines.base import Baseline, Material
from askonce.errors import AskonceError
from askonce.types import Pool


@BASELINES.add("random", "chance")
class Random(Baseline):
    """Chance: equal scores for all, reported as the expectation over all orders."""

    constant = True

    def fit(self, material: Material) -> None: ...

    def score(self, pool: Pool) -> np.ndarray:
        return np.zeros(len(pool.candidates))


@BASELINES.add("given", "shipped")
class Given(Baseline):
    """The order that came with the data, such as the BM25 column of AskUbuntu.

    Equal scores keep the order of the file.
    """

    def fit(self, material: Material) -> None: ...

    def score(self, pool: Pool) -> np.ndarray:
        if pool.given is None:
            raise AskonceError(
                f"the data gives no scores for query {pool.query.id!r}; leave 'given' out"
            )
        order = np.argsort(-np.asarray(pool.given), kind="stable")
        ranks = np.empty(len(order))
        ranks[order] = -np.arange(len(order), dtype=float)
        return ranks
