"""The stages that score candidates, and the candidates with their raw scores."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from askonce.index.base import Hit

DEPTH = 50  # candidates taken from each index, and candidates that the pair model reads

# "asked": the score that similar questions lend to their answers
BM25, VECTORS, PAIR, ASKED = "bm25", "vectors", "pair", "asked"
RANKERS = {  # the stages of each way of ranking
    "bm25": (BM25,),
    "vectors": (VECTORS,),
    "fused": (BM25, VECTORS),
    "best": (BM25, VECTORS, PAIR),
}


@dataclass(frozen=True)
class Candidates:
    """The candidates for one question, with the raw score of every stage for each of them."""

    ids: list[str]
    stages: dict[str, np.ndarray]  # (C,) each


@dataclass(frozen=True)
class Ranked(Candidates):
    """Candidates in order, best first."""

    scores: np.ndarray  # (C,)
    weights: Mapping[str, float]  # of each stage

    def parts(self, rank: int) -> dict[str, float]:
        """The score of each stage for the candidate at a rank."""
        return {name: float(values[rank]) for name, values in self.stages.items()}

    def only(self, ids: Sequence[str]) -> Candidates:
        row_of = {post_id: row for row, post_id in enumerate(self.ids)}
        rows = [row_of[post_id] for post_id in ids]
        return Candidates(list(ids), {name: values[rows] for name, values in self.stages.items()})


@dataclass(frozen=True)
class Query:
    """A question, with candidates to add and to leave out."""

    text: str
    lent: Mapping[str, float] = field(default_factory=dict)  # candidates with a score of their own
    barred: Set[str] = frozenset()  # posts that must not be candidates


@dataclass(frozen=True)
class IndexQuery:
    """One question to one index."""

    search: Callable[[int], list[Hit]]  # the best k posts
    score: Callable[[Sequence[str]], np.ndarray]  # of any posts


def gather(query: Query, indexes: Mapping[str, IndexQuery], depth: int) -> Candidates:
    """The best ``depth`` posts of each index, together, with every index's score for all of them.

    Ids are sorted, so that a stable sort by score leaves ties in the order of ids.
    """
    lent, barred = query.lent, query.barred
    hits = {
        name: [hit for hit in index.search(depth + len(barred)) if hit.id not in barred][:depth]
        for name, index in indexes.items()
    }
    ids = sorted({*lent, *(hit.id for of_index in hits.values() for hit in of_index)})
    stages = {}
    for name, index in indexes.items():
        scores = dict(hits[name])
        missing = [post_id for post_id in ids if post_id not in scores]
        if missing:
            scores |= zip(missing, index.score(missing).tolist(), strict=True)
        stages[name] = np.array([scores[post_id] for post_id in ids])  # (C,)
    if any(lent.values()):
        stages[ASKED] = np.array([lent.get(post_id, 0.0) for post_id in ids])  # (C,)
    return Candidates(ids, stages)
