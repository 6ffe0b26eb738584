"""The largest inner products of a query's key with many keys: by a look at all, or by a graph."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askonce.index.base import Hit
from askonce.index.graph import Graph


@dataclass(frozen=True)
class Seen:
    """What a search sees, from its start to its end; a change makes another one."""

    keys: np.ndarray  # (n, K)
    alive: np.ndarray  # (n,) bool: not replaced, not removed
    living: int
    ids: Sequence[str]  # by row; shared with later states, which have more rows
    graph: Graph | None = None  # of the first rows

    def best(self, key: np.ndarray, k: int) -> list[Hit]:
        """The k posts with the largest inner products."""
        k = min(k, self.living)
        if k < 1:
            return []
        rows = self._candidates(key, k)
        scores = self.products(rows, key)  # (c,)
        chosen = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        pairs = zip(rows[chosen].tolist(), scores[chosen].tolist(), strict=True)
        hits = [Hit(self.ids[row], score) for row, score in pairs]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:k]

    def products(self, rows: np.ndarray, key: np.ndarray) -> np.ndarray:
        """Inner products row by row, in float64: equal keys score equally wherever they stand."""
        return (self.keys[rows].astype(np.float64) * key).sum(axis=1)  # (c,)

    def _candidates(self, key: np.ndarray, k: int) -> np.ndarray:
        graph = self.graph
        if graph is not None and 8 * k < graph.rows:
            found = graph.nearest(key, 4 * k)
            found = found[self.alive[found]][: 4 * k]  # more than float16 may have put out of order
            if len(found) >= k:
                return np.concatenate([found, self._largest(key, k, graph.rows)])
        return self._largest(key, k, 0)

    def _largest(self, key: np.ndarray, k: int, start: int) -> np.ndarray:
        """The rows of the k largest products from a row on, and those that rounding may hide."""
        scores, alive = self.keys[start:] @ key, self.alive[start:]  # (m,)
        if k >= len(scores):
            return start + np.flatnonzero(alive)
        slack = 1e-5 * np.abs(scores).max()
        scores[~alive] = -np.inf
        least = np.partition(scores, len(scores) - k)[len(scores) - k] - slack
        return start + np.flatnonzero((scores >= least) & alive)


NOTHING = Seen(np.empty((0, 0), dtype=np.float32), np.empty(0, dtype=bool), 0, ())
