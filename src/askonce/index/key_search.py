"""The largest inner products of a query's key with many keys: by scanning all, or by a graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from usearch.compiled import MetricKind
from usearch.index import Index

from askonce.index.base import Hit, IndexDamaged, best_first

NEIGHBOURS = 24
EFFORT = 64  # keys visited to insert one
EXPLORED = 512  # keys visited for a query: recall@50 of HyperQA's keys at 170k is 0.96
LEAST_EXPLORED = 256
ROOTS = 2_000  # keys inserted by one thread before all cores insert
CHUNK = 8_192  # keys scaled at a time: scaled copies of all would fill the memory
BULK_VALUES = 100_000_000  # numbers in all keys up to which many queries scan all of them
BULK_PRODUCTS = 8_000_000  # scores held at a time
BULK = 32  # queries from which one product of matrices is faster than a graph
LARGEST, SCALED = 60_000.0, 256.0  # float16 ends at 65,504; later keys may be larger


class Graph:
    """A usearch HNSW graph of the first ``rows`` rows of keys. It does not change.

    Neighbours are chosen by distance, but a query walks along inner products. HyperQA's keys need
    that: (v, 1, ‖v‖²) / (1-‖v‖²) with a large norm have large products with each other, yet small
    ones with a query, so a graph built by inner products has no path to the best of them.
    Vectors are float16, scaled by one constant; the caller re-scores hits with the full keys.
    """

    def __init__(self, index: Index, rows: int, scale: float) -> None:
        self._index, self.rows, self.scale = index, rows, scale
        index.metric = MetricKind.IP

    @classmethod
    def grown(cls, old: "Graph | None", keys: np.ndarray) -> "Graph":
        """A graph of all keys (n, K); the old one stays as it is, so it can be searched."""
        new = keys if old is None else keys[old.rows :]  # (m, K)
        largest = float(np.abs(new).max(initial=0.0))
        if old is not None and largest * old.scale > LARGEST:
            return cls.grown(None, keys)
        scale = old.scale if old is not None else SCALED / (largest or 1.0)
        index = _empty(keys.shape[1]) if old is None else old._index.copy()
        index.metric = MetricKind.L2sq
        start = len(keys) - len(new)
        # keys inserted together into an almost empty graph may miss each other and become
        # unreachable
        roots = max(0, min(ROOTS, len(keys)) - start)
        firsts = [*([0] if roots else []), *range(roots, len(new), CHUNK)]
        for first, last in pairwise([*firsts, len(new)]):
            part = new[first:last] * np.float32(scale)  # (m, K)
            labels = np.arange(start + first, start + last, dtype=np.uint64)
            index.add(labels, part, threads=1 if first < roots else 0)  # 0: all cores
        return cls(index, len(keys), scale)

    def nearest(self, key: np.ndarray, count: int) -> np.ndarray:
        """Rows whose keys have large inner products with a query's, the best first."""
        largest = float(np.abs(key).max(initial=0.0)) or 1.0
        # usearch explores as many keys as it returns; a smaller count needs fewer
        wanted = min(self.rows, max(count, LEAST_EXPLORED, min(EXPLORED, 3 * count)))
        matches = self._index.search(key / np.float32(largest), wanted, threads=1)
        return matches.keys.astype(np.int64)  # (c,)

    def save(self, path: Path) -> None:
        self._index.save(str(path))

    @classmethod
    def load(cls, path: Path, dim: int, rows: int, scale: float) -> "Graph":
        """Map the file into memory."""
        index = _empty(dim)
        try:
            index.view(str(path))
        except (RuntimeError, ValueError, OSError) as error:
            raise IndexDamaged(f"{str(path)!r} is not a graph ({error}); rebuild it") from None
        if len(index) != rows or index.ndim != dim:
            raise IndexDamaged(f"{str(path)!r} has {len(index)} rows, not {rows}; rebuild it")
        return cls(index, rows, scale)


def _empty(dim: int) -> Index:
    return Index(
        ndim=dim,
        metric=MetricKind.L2sq,
        dtype="f16",
        connectivity=NEIGHBOURS,
        expansion_add=EFFORT,
        expansion_search=1,  # the number of results decides
        enable_key_lookups=False,
    )


@dataclass(frozen=True)
class KeySnapshot:
    """What one search sees from start to end; a change makes a new snapshot."""

    keys: np.ndarray  # (n, K)
    alive: np.ndarray  # (n,) bool: neither replaced nor removed
    living: int
    ids: Sequence[str]  # by row; shared with later snapshots, which have more rows
    graph: Graph | None = None  # of the first rows

    def best(self, key: np.ndarray, k: int) -> list[Hit]:
        """The k posts with the largest inner products."""
        k = min(k, self.living)
        return self._hits(self._candidates(key, k), key, k) if k > 0 else []

    def best_many(self, keys: np.ndarray, k: int) -> list[list[Hit]]:
        """The k best posts for each of many keys (Q, K), by one product of matrices at a time."""
        if self.graph is not None and (len(keys) < BULK or self.keys.size > BULK_VALUES):
            return [self.best(key, k) for key in keys]
        k, hits = min(k, self.living), []
        if k < 1:
            return [[] for _ in keys]
        step = max(1, BULK_PRODUCTS // len(self.keys))
        for start in range(0, len(keys), step):
            block = keys[start : start + step]  # (q, K)
            for key, scores in zip(block, _scan(self.keys, block), strict=True):  # (n,)
                hits.append(self._hits(self._top(scores, k, self.alive), key, k))
        return hits

    def _hits(self, rows: np.ndarray, key: np.ndarray, k: int) -> list[Hit]:
        """The k best of these rows, by exact products."""
        scores = self.products(rows, key)  # (c,)
        top = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        pairs = zip(rows[top].tolist(), scores[top].tolist(), strict=True)
        return best_first(Hit(self.ids[row], score) for row, score in pairs)[:k]

    def products(self, rows: np.ndarray, key: np.ndarray) -> np.ndarray:
        """Inner products in float64, row by row: equal keys get equal scores in any row."""
        return (self.keys[rows].astype(np.float64) * key).sum(axis=1)  # (c,)

    def _candidates(self, key: np.ndarray, k: int) -> np.ndarray:
        graph = self.graph
        if graph is not None and 8 * k < graph.rows:
            rows = graph.nearest(key, 4 * k)
            rows = rows[self.alive[rows]][: 4 * k]  # float16 may have changed the order
            if len(rows) >= k:
                return np.concatenate([rows, self._largest(key, k, graph.rows)])
        return self._largest(key, k, 0)

    def _largest(self, key: np.ndarray, k: int, start: int) -> np.ndarray:
        """Rows from ``start`` on with the k largest products, or as large but for rounding."""
        return start + self._top(self.keys[start:] @ key, k, self.alive[start:])

    @staticmethod
    def _top(scores: np.ndarray, k: int, alive: np.ndarray) -> np.ndarray:
        """The living rows with the k largest scores (m,), or as large but for rounding."""
        if k >= len(scores):
            return np.flatnonzero(alive)
        slack = 1e-5 * np.abs(scores).max()
        if not alive.all():
            scores[~alive] = -np.inf
        least = np.partition(scores, len(scores) - k)[len(scores) - k] - slack
        return np.flatnonzero((scores >= least) & alive)


def _scan(keys: np.ndarray, block: np.ndarray) -> np.ndarray:
    """The products (q, n) of a few queries (q, K) with all keys (n, K).

    For two to four queries torch takes half of numpy's time (1.5 and 2.9 ms of 17,000 keys of 200
    numbers), for one or eight about the same. Three take longer than four (2.4 and 1.9 ms), so a
    row of zeros is added to them.
    """
    if len(block) == 1:
        return (keys @ block[0])[None]
    import torch

    queries = torch.from_numpy(block.astype(keys.dtype, copy=False))
    if len(block) == 3:
        queries = torch.nn.functional.pad(queries, (0, 0, 0, 1))  # (4, K)
    every = torch.from_numpy(keys) @ queries.T  # (n, q) or (n, 4)
    return every[:, : len(block)].T.contiguous().numpy()


EMPTY = KeySnapshot(np.empty((0, 0), dtype=np.float32), np.empty(0, dtype=bool), 0, ())
