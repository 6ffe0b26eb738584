"""The largest inner products of a query's key with many keys: by scanning all, or by a graph."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from usearch.compiled import MetricKind
from usearch.index import Index

from askonce.index.base import Hit, IndexDamaged, best_first
from askonce.index.key_scan import (
    HAS_KERNEL,
    Products,
    RoundedKeys,
    float_products,
    top_rows,
)

NEIGHBOURS = 24
EFFORT = 64  # keys visited to insert one
EXPLORED = 512  # keys visited for a query: recall@50 of HyperQA's keys at 170k is 0.96
LEAST_EXPLORED = 256
ROOTS = 2_000  # keys inserted by one thread before all cores insert
CHUNK = 8_192  # keys scaled at a time: scaled copies of all would fill the memory
BULK_VALUES = 100_000_000  # numbers in all keys up to which many queries scan all of them
BULK_PRODUCTS = 8_000_000  # scores held at a time
BULK = 32  # queries from which one product of matrices is faster than a graph
FEW_ROWS = 200  # whose exact products take less time than to leave some out by float32
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
    rounded: RoundedKeys = field(default_factory=RoundedKeys)  # shared with later snapshots

    def best(self, key: np.ndarray, k: int) -> list[Hit]:
        """The k posts with the largest inner products."""
        return self.best_many(key[None], k)[0]

    def best_many(self, keys: np.ndarray, k: int) -> list[list[Hit]]:
        """The k best posts for each of many keys (Q, K), which scan all keys together."""
        k = min(k, self.living)
        if k < 1:
            return [[] for _ in keys]
        if self.graph is not None and (len(keys) < BULK or self.keys.size > BULK_VALUES):
            return [self._hits(self._near(self.graph, key, k), key, k) for key in keys]
        step, hits = max(1, BULK_PRODUCTS // len(self.keys)), []
        for start in range(0, len(keys), step):
            block = keys[start : start + step]  # (q, K)
            products = self._scan(block)
            for key, values in zip(block, products.values, strict=True):  # (n,)
                hits.append(self._hits(top_rows(values, products.errors, k, self.alive), key, k))
        return hits

    def _hits(self, rows: np.ndarray, key: np.ndarray, k: int) -> list[Hit]:
        """The k best of these rows, by exact products."""
        if len(rows) > FEW_ROWS:
            rows = rows[_largest(self.keys[rows], key, k, self.alive[rows])]
        else:
            rows = rows[self.alive[rows]]
        scores = self.products(rows, key)  # (c,)
        top = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        pairs = zip(rows[top].tolist(), scores[top].tolist(), strict=True)
        return best_first(Hit(self.ids[row], score) for row, score in pairs)[:k]

    def products(self, rows: np.ndarray, key: np.ndarray) -> np.ndarray:
        """Inner products in float64, row by row: equal keys get equal scores in any row."""
        return (self.keys[rows].astype(np.float64) * key).sum(axis=1)  # (c,)

    def _near(self, graph: Graph, key: np.ndarray, k: int) -> np.ndarray:
        """Rows near a key in the graph, and the best of the rows outside of it."""
        start = 0
        near = np.empty(0, dtype=np.int64)
        if 8 * k < graph.rows:
            rows = graph.nearest(key, 4 * k)
            rows = rows[self.alive[rows]][: 4 * k]  # float16 may have changed the order
            if len(rows) >= k:
                start, near = graph.rows, rows
        outside = _largest(self.keys[start:], key, k, self.alive[start:])
        return np.concatenate([near, start + outside])

    def _scan(self, queries: np.ndarray) -> Products:
        if self.graph is None and HAS_KERNEL:
            return self.rounded.products(self.keys, queries)
        return float_products(self.keys, queries)


def _largest(keys: np.ndarray, key: np.ndarray, k: int, alive: np.ndarray) -> np.ndarray:
    """The living rows of keys (n, K) that can have one of the k largest products."""
    products = float_products(keys, key[None])
    return top_rows(products.values[0], products.errors, k, alive)


def no_keys() -> KeySnapshot:
    return KeySnapshot(np.empty((0, 0), dtype=np.float32), np.empty(0, dtype=bool), 0, ())
