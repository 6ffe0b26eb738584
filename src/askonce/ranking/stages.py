"""The stages that score candidates, and the candidates with their raw scores."""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from askonce.index.base import Hit

DEPTH = 50  # candidates taken from each index, and candidates that the pair model reads

# "asked": the score that similar questions lend to their answers
BM25, VECTORS, PAIR, ASKED = "bm25", "vectors", "pair", "asked"
TYPED = "typed"
RANKERS = {  # the stages of each way of ranking
    "bm25": (BM25,),
    "vectors": (VECTORS,),
    "fused": (BM25, VECTORS),
    "typed": (BM25, VECTORS),  # for a question that is being typed: queries by a fast reader
    "best": (BM25, VECTORS, PAIR),
}


@dataclass(frozen=True)
class Candidates:
    """The candidates for one question, with the raw score of every stage for each of them."""

    ids: list[str]
    stages: dict[str, np.ndarray]  # (C,) each


@dataclass(frozen=True)
class Ranked(Candidates):
    scores: np.ndarray  # (C,)
    weights: Mapping[str, float]  # of each stage

    def parts(self, rank: int) -> dict[str, float]:
        """The score of each stage that read the candidate at a rank."""
        scores = {name: float(values[rank]) for name, values in self.stages.items()}
        return {name: score for name, score in scores.items() if not math.isnan(score)}

    def led_by(self, ids: Sequence[str]) -> "Ranked":
        """These posts first, then the other candidates; a new one gets the best score."""
        if not ids:
            return self
        row_of = {post_id: row for row, post_id in enumerate(self.ids)}
        rest = [row for post_id, row in row_of.items() if post_id not in set(ids)]
        rows = [row_of.get(post_id) for post_id in ids]
        best = float(self.scores.max()) if len(self.scores) else 0.0
        stages = {
            name: np.array([np.nan if row is None else values[row] for row in (*rows, *rest)])
            for name, values in self.stages.items()
        }
        scores = np.array([*[best] * len(rows), *self.scores[rest]])
        return Ranked([*ids, *(self.ids[row] for row in rest)], stages, scores, self.weights)

    def followed_by(self, other: "Ranked") -> "Ranked":
        """These candidates, then those of another ranking that are not among them."""
        own = set(self.ids)
        rows = [row for row, post_id in enumerate(other.ids) if post_id not in own]
        if not rows:
            return self
        lowest = float(self.scores.min()) if len(self.scores) else 0.0
        scores = other.scores[rows]  # (R,)
        missing = np.full(len(rows), np.nan)
        return Ranked(
            [*self.ids, *(other.ids[row] for row in rows)],
            {
                name: np.concatenate(
                    [values, other.stages[name][rows] if name in other.stages else missing]
                )
                for name, values in self.stages.items()
            },
            np.concatenate([self.scores, scores - scores.max() + lowest]),
            self.weights,
        )

    def only(self, ids: Sequence[str]) -> Candidates:
        row_of = {post_id: row for row, post_id in enumerate(self.ids)}
        rows = [row_of[post_id] for post_id in ids]
        return Candidates(list(ids), {name: values[rows] for name, values in self.stages.items()})


@dataclass(frozen=True)
class Query:
    """A question, with candidates to add and to leave out."""

    text: str
    synonyms: str = field(default="", kw_only=True)  # more words for the word index
    lent: Mapping[str, float] = field(default_factory=dict)  # candidates with a score of their own
    barred: Set[str] = frozenset()  # posts that must not be candidates


@dataclass(frozen=True)
class IndexQuery:
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
