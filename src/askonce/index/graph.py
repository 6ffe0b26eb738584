"""Find large inner products among very many keys without looking at all: a usearch HNSW graph."""

from itertools import pairwise
from pathlib import Path

import numpy as np
from usearch.compiled import MetricKind
from usearch.index import Index

from askonce.index.base import IndexDamaged

NEIGHBOURS = 24
EFFORT = 64  # keys looked at for the place of a new one
EXPLORED = 512  # keys looked at for a query: recall@50 of HyperQA's keys at 170k is 0.96
LEAST_EXPLORED = 256
ROOTS = 2_000  # keys that are added one after the other, before all cores add
CHUNK = 8_192  # keys scaled at a time: scaled copies of all would fill the memory
LARGEST, SCALED = 60_000.0, 256.0  # float16 ends at 65,504; keys to come may be larger


class Graph:
    """The first ``rows`` rows of keys, as neighbours of each other. It does not change.

    Neighbours are near by distance, but a query walks along inner products. HyperQA's keys need
    that: (v, 1, ‖v‖²) / (1-‖v‖²) with a large norm have large products with each other, yet small
    ones with a query, so a graph made by inner products has no way to the best of them.
    Vectors are float16, scaled by one constant; who searches scores what was found with the keys.
    """

    def __init__(self, index: Index, rows: int, scale: float) -> None:
        self._index, self.rows, self.scale = index, rows, scale
        index.metric = MetricKind.IP

    @classmethod
    def grown(cls, old: "Graph | None", keys: np.ndarray) -> "Graph":
        """A graph of all keys (n, K); the old one, which may be searched meanwhile, stays."""
        fresh = keys if old is None else keys[old.rows :]  # (m, K)
        largest = float(np.abs(fresh).max(initial=0.0))
        if old is not None and largest * old.scale > LARGEST:
            return cls.grown(None, keys)
        scale = old.scale if old is not None else SCALED / (largest or 1.0)
        index = _empty(keys.shape[1]) if old is None else old._index.copy()
        index.metric = MetricKind.L2sq
        start = len(keys) - len(fresh)
        # keys that enter an almost empty graph together may miss each other and be lost to searches
        roots = max(0, min(ROOTS, len(keys)) - start)
        firsts = [*([0] if roots else []), *range(roots, len(fresh), CHUNK)]
        for first, last in pairwise([*firsts, len(fresh)]):
            part = fresh[first:last] * np.float32(scale)  # (m, K)
            labels = np.arange(start + first, start + last, dtype=np.uint64)
            index.add(labels, part, threads=1 if first < roots else 0)  # 0: all cores
        return cls(index, len(keys), scale)

    def nearest(self, key: np.ndarray, count: int) -> np.ndarray:
        """Rows whose keys have large inner products with a query's, the best first."""
        largest = float(np.abs(key).max(initial=0.0)) or 1.0
        # usearch explores as many as it is to return; fewer wanted need fewer explored
        wanted = min(self.rows, max(count, LEAST_EXPLORED, min(EXPLORED, 3 * count)))
        found = self._index.search(key / np.float32(largest), wanted, threads=1)
        return found.keys.astype(np.int64)  # (c,)

    def save(self, path: Path) -> None:
        """Write the file."""
        self._index.save(str(path))

    @classmethod
    def load(cls, path: Path, dim: int, rows: int, scale: float) -> "Graph":
        """Map the file into memory."""
        index = _empty(dim)
        try:
            index.view(str(path))
        except (RuntimeError, ValueError, OSError) as error:
            raise IndexDamaged(f"{str(path)!r} is no graph ({error}); build it anew") from None
        if len(index) != rows or index.ndim != dim:
            raise IndexDamaged(f"{str(path)!r} has {len(index)} rows, not {rows}; build it anew")
        return cls(index, rows, scale)


def _empty(dim: int) -> Index:
    return Index(
        ndim=dim,
        metric=MetricKind.L2sq,
        dtype="f16",
        connectivity=NEIGHBOURS,
        expansion_add=EFFORT,
        expansion_search=1,  # what is wanted decides
        enable_key_lookups=False,
    )
