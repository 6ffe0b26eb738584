"""Rank one kind of posts: candidates from the indexes, order from all stages together.

BM25 and vectors each give their best; every candidate gets every stage's exact score; the stages
are joined as training chose on dev; a pair model, where one serves, re-ranks the best of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from askonce.index.base import Hit, Index, KeyIndex, WordIndex
from askonce.ranking.fusion import Score, fuse, gather
from askonce.ranking.manifest import Serving

if TYPE_CHECKING:
    from askonce.archive import Archive
    from askonce.ranker import Ranker

DEPTH = 50  # candidates of each index, and those that a pair model reads

BM25, VECTORS, PAIR, ASKED = "bm25", "vectors", "pair", "asked"
RANKERS = {  # the stages of each way of ranking
    "bm25": (BM25,),
    "vectors": (VECTORS,),
    "fused": (BM25, VECTORS),
    "best": (BM25, VECTORS, PAIR),
}


@dataclass(frozen=True)
class Ranked:
    """The candidates for one question, best first, with each stage's score."""

    ids: list[str]
    scores: np.ndarray  # (C,)
    stages: dict[str, np.ndarray]  # raw, each (C,)
    weights: Mapping[str, float]

    def parts(self, place: int) -> dict[str, float]:
        """What each stage gave the candidate at a place."""
        return {name: float(values[place]) for name, values in self.stages.items()}


@dataclass(frozen=True)
class Search:
    """The indexes of one kind of posts and the models in service for it."""

    archive: "Archive"
    lexical: WordIndex
    vectors: KeyIndex | None = None
    pair: "Ranker | None" = None
    serving: Serving = field(default_factory=Serving)

    def indexes(self) -> list[Index]:
        """The indexes that must follow the archive."""
        return [self.lexical] if self.vectors is None else [self.lexical, self.vectors]

    def rankers(self) -> list[str]:
        """The ways of ranking that make a difference here, the best first."""
        if self.vectors is None and self.pair is None:
            return ["best", "bm25"]
        names = ["best", "bm25"] + (["vectors"] if self.vectors is not None else [])
        return [*names, "fused"] if self.vectors is not None and self.pair is not None else names

    def rank(
        self,
        questions: Sequence[str],
        ranker: str = "best",
        depth: int = DEPTH,
        asked: Sequence[Mapping[str, float]] | None = None,
    ) -> list[Ranked]:
        """Rank for each question; ``asked`` adds candidates that other questions lend a score."""
        return self.rerank(questions, self.find(questions, ranker, depth, asked), ranker)

    def find(
        self,
        questions: Sequence[str],
        ranker: str = "best",
        depth: int = DEPTH,
        asked: Sequence[Mapping[str, float]] | None = None,
    ) -> list[Ranked]:
        """Rank by all stages but the pair model."""
        stages = self._stages(ranker)
        vectors = self.vectors if VECTORS in stages else None
        keys = vectors.coder.query_keys(questions) if vectors is not None else None  # (Q, K)
        ranked = []
        for place, question in enumerate(questions):
            found: dict[str, list[Hit]] = {}
            score: dict[str, Score] = {}
            if BM25 in stages:
                found[BM25] = self.lexical.search(question, depth)
                score[BM25] = partial(self.lexical.score, question)
            if vectors is not None and keys is not None:
                found[VECTORS] = vectors.search_key(keys[place], depth)
                score[VECTORS] = partial(vectors.score_key, keys[place])
            ranked.append(self._joined(*_gathered(found, score, asked[place] if asked else {})))
        return ranked

    def rerank(
        self, questions: Sequence[str], found: list[Ranked], ranker: str = "best"
    ) -> list[Ranked]:
        """Let the pair model, if this way of ranking has one, read the best of each."""
        if self.pair is None or PAIR not in self._stages(ranker):
            return found
        return self._rerank(self.pair, questions, found)

    def _stages(self, ranker: str) -> tuple[str, ...]:
        """The stages of a way of ranking that are there; without any of them, BM25."""
        have = {BM25: True, VECTORS: self.vectors is not None, PAIR: self.pair is not None}
        weights = self.serving.weights
        # a stage that dev gave no weight costs time and changes nothing, unless it is asked for
        wanted = [s for s in RANKERS[ranker] if ranker in (BM25, VECTORS) or weights.get(s, 0) != 0]
        stages = tuple(stage for stage in wanted if have[stage])
        return stages if {BM25, VECTORS} & set(stages) else (BM25, *stages)  # something must search

    def _joined(self, ids: list[str], scores: dict[str, np.ndarray]) -> Ranked:
        """Best first. BM25 alone keeps its own scale, since everyone knows how to read it."""
        weights = {name: self._weight(name) for name in scores}
        if set(scores) <= {BM25, ASKED}:
            total = np.sum(list(scores.values()), axis=0) if ids else np.empty(0)  # (C,)
        elif set(scores) == {VECTORS}:
            total = scores[VECTORS]  # (C,)
        else:
            total = fuse(scores, weights, self.serving.how)  # (C,)
        order = np.argsort(-total, kind="stable")  # ids are sorted, so ties come in their order
        return Ranked(
            [ids[place] for place in order],
            total[order],
            {name: values[order] for name, values in scores.items()},
            weights,
        )

    def _weight(self, stage: str) -> float:
        weights = self.serving.weights
        # what a question lends its answers counts as much as their own words
        return weights.get(BM25) or 1.0 if stage == ASKED else weights.get(stage, 0.0)

    def _rerank(
        self, pair: "Ranker", questions: Sequence[str], ranked: Sequence[Ranked]
    ) -> list[Ranked]:
        """Let the pair model read the best of each; the rest stays behind them in its order."""
        heads = [found.ids[:DEPTH] for found in ranked]
        posts = self.archive.posts(sorted({name for head in heads for name in head}), html=False)
        heads = [[name for name in head if name in posts] for head in heads]
        pairs = [
            (question, posts[name])
            for question, head in zip(questions, heads, strict=True)
            for name in head
        ]
        scores = np.asarray(pair.predict(pairs), dtype=float) if pairs else np.empty(0)
        ends = np.cumsum([len(head) for head in heads])[:-1]
        return [
            self._with_pair(found, head, some)
            for found, head, some in zip(ranked, heads, np.split(scores, ends), strict=True)
        ]

    def _with_pair(self, found: Ranked, head: list[str], pair: np.ndarray) -> Ranked:
        place = {name: n for n, name in enumerate(found.ids)}
        rows = [place[name] for name in head]
        stages = {name: values[rows] for name, values in found.stages.items()} | {PAIR: pair}
        return self._joined(head, stages)


def _gathered(
    found: Mapping[str, Sequence[Hit]], score: Mapping[str, Score], asked: Mapping[str, float]
) -> tuple[list[str], dict[str, np.ndarray]]:
    """The union of what each index finds, with every stage's score for all of it."""
    ids, scores = gather(found, score, asked)
    if any(asked.values()):
        scores[ASKED] = np.array([asked.get(name, 0.0) for name in ids])  # (C,)
    return ids, scores
