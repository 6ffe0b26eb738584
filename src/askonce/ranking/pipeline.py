"""Rank one kind of posts: find candidates, fuse the scores of all stages, re-rank the best.

BM25 and vectors each give their best posts (``find``); every candidate gets every stage's exact
score; the scores are fused as training selected on dev (``retrieve``); a pair model, where one
serves, reads the best of them (``rerank``). Training measures with the same functions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from askonce.index.base import Hit, Index, KeyIndex, WordIndex
from askonce.index.lexical import LexicalIndex
from askonce.ranking.calibration import same_title
from askonce.ranking.fusion import Fusion
from askonce.ranking.manifest import Serving
from askonce.ranking.stages import (
    BM25,
    DEPTH,
    PAIR,
    RANKERS,
    TYPED,
    VECTORS,
    Candidates,
    IndexQuery,
    Query,
    Ranked,
    gather,
)
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.ranker import Ranker

TITLES = 5  # candidates of BM25 whose titles are compared with the query
TITLE_BONUS = 2.0  # factor of BM25's score for the same title; more words are worth at most 2.2


class PostReader(Protocol):
    """Where posts are read, such as an archive."""

    def posts(self, ids: Sequence[str], html: bool = True) -> Mapping[str, Post]:
        """The posts with these ids that exist."""

    def titles(self, ids: Sequence[str]) -> Mapping[str, str]:
        """The titles of those that exist."""


@dataclass(frozen=True)
class Search:
    """The indexes of one kind of posts and the models in service for it."""

    archive: PostReader
    lexical: WordIndex
    vectors: KeyIndex | None = None
    pair: "Ranker | None" = None
    serving: Serving = field(default_factory=Serving)

    def fusion(self, ranker: str = "best") -> Fusion:
        """As training selected it for the share of posts that a teacher has read."""
        share = 1.0
        if self.vectors is not None and self.serving.unread_weights:
            share = self.vectors.read_share()
        return self.serving.fusion_at(share, ranker == TYPED)

    def indexes(self) -> list[Index]:
        return [self.lexical] if self.vectors is None else [self.lexical, self.vectors]

    def rankers(self) -> list[str]:
        """The ways of ranking that differ here, the best first."""
        names = ["best", "bm25"]
        if self.vectors is not None:
            names += ["vectors"]
            names += ["fused"] if self.pair is not None else []
            names += [TYPED] if self.vectors.coder.slow else []
        return names

    def rank(
        self, queries: Sequence[Query], ranker: str = "best", depth: int = DEPTH
    ) -> list[Ranked]:
        return self.rerank(queries, self.retrieve(queries, ranker, depth), ranker)

    def retrieve(
        self, queries: Sequence[Query], ranker: str = "best", depth: int = DEPTH
    ) -> list[Ranked]:
        """Rank by all stages but the pair model."""
        return list(map(self.fusion(ranker).join, self.find(queries, ranker, depth)))

    def find(
        self, queries: Sequence[Query], ranker: str = "best", depth: int = DEPTH
    ) -> list[Candidates]:
        """The best ``depth`` of each index, with raw scores of all stages but the pair model."""
        stages = self._stages(ranker)
        by_vectors: list[IndexQuery] = []
        if self.vectors is not None and VECTORS in stages:
            by_vectors = _ask_vectors(self.vectors, queries, ranker, depth)
        candidates = []
        for row, query in enumerate(queries):
            indexes: dict[str, IndexQuery] = {}
            if BM25 in stages:
                words = f"{query.text} {query.synonyms}" if query.synonyms else query.text
                indexes[BM25] = IndexQuery(
                    partial(self.lexical.search, words), partial(self.lexical.score, words)
                )
            if by_vectors:
                indexes[VECTORS] = by_vectors[row]
            candidates.append(gather(query, indexes, depth))
        if BM25 in stages:
            self._prefer_titles(queries, candidates)
        return candidates

    def _prefer_titles(self, queries: Sequence[Query], candidates: Sequence[Candidates]) -> None:
        """Raise BM25's score of candidates whose title is the first line of the query.

        Only BM25's best are looked at: such a post has all words of the line.
        """
        best = [np.argsort(-one.stages[BM25], kind="stable")[:TITLES] for one in candidates]
        ids = {one.ids[row] for one, rows in zip(candidates, best, strict=True) for row in rows}
        titles = self.archive.titles(sorted(ids))
        for query, one, rows in zip(queries, candidates, best, strict=True):
            for row in rows:
                if same_title(query.text, titles.get(one.ids[row], "")):
                    one.stages[BM25][row] *= TITLE_BONUS

    def rerank(
        self, queries: Sequence[Query], ranked: list[Ranked], ranker: str = "best"
    ) -> list[Ranked]:
        """Order the best candidates of each question by all stages, if the ranker has a pair model.

        Candidates that the pair model does not read are dropped.
        """
        if self.pair is None or PAIR not in self._stages(ranker):
            return ranked
        return list(map(self.fusion(ranker).join, self.read_pairs(queries, ranked)))

    def read_pairs(self, queries: Sequence[Query], ranked: Sequence[Ranked]) -> list[Candidates]:
        """The best candidates of each question, with the pair model's scores added."""
        if self.pair is None:
            raise ValueError("read_pairs needs a pair model")
        heads = [one.ids[:DEPTH] for one in ranked]
        posts = self.archive.posts(sorted({name for head in heads for name in head}), html=False)
        heads = [[name for name in head if name in posts] for head in heads]
        pairs = [
            (query.text, posts[name])
            for query, head in zip(queries, heads, strict=True)
            for name in head
        ]
        scores = np.asarray(self.pair.predict(pairs), dtype=float) if pairs else np.empty(0)
        ends = np.cumsum([len(head) for head in heads])[:-1]
        candidates = []
        for one, head, values in zip(ranked, heads, np.split(scores, ends), strict=True):
            best = one.only(head)
            candidates.append(Candidates(best.ids, best.stages | {PAIR: values}))
        return candidates

    def score_documents(self, query: str, documents: Sequence[str]) -> list[float]:
        """A score for each of these documents, which need not be in the archive."""
        posts = [Post(str(number), title=text) for number, text in enumerate(documents)]
        if not posts:
            return []
        wanted = self._stages("best")
        stages: dict[str, np.ndarray] = {}  # (n,) each
        if BM25 in wanted:
            stages[BM25] = LexicalIndex.of(posts).score(query, [post.id for post in posts])
        if VECTORS in wanted and self.vectors is not None:
            coder = self.vectors.coder
            stages[VECTORS] = coder.candidate_keys(posts) @ coder.query_keys([query])[0]
        if PAIR in wanted and self.pair is not None:
            pairs = [(query, text) for text in documents]
            stages[PAIR] = np.asarray(self.pair.predict(pairs), dtype=float)
        return self.fusion().scores(stages).tolist()

    def _stages(self, ranker: str) -> tuple[str, ...]:
        """The stages of a ranker that exist here; BM25 where none of them could search."""
        exists = {BM25: True, VECTORS: self.vectors is not None, PAIR: self.pair is not None}
        weights = self.fusion(ranker).weights
        # a stage without a weight costs time and changes nothing, unless it is asked for by name
        wanted = [s for s in RANKERS[ranker] if ranker in (BM25, VECTORS) or weights.get(s, 0) != 0]
        stages = tuple(stage for stage in wanted if exists[stage])
        return stages if {BM25, VECTORS} & set(stages) else (BM25, *stages)


def _ask_vectors(
    index: KeyIndex, queries: Sequence[Query], ranker: str, depth: int
) -> list[IndexQuery]:
    """All queries to the index of vectors at once."""
    texts = [query.text for query in queries]
    read = index.coder.typed_query_keys if ranker == TYPED else index.coder.query_keys
    keys = read(texts)  # (Q, K)
    most = depth + max((len(query.barred) for query in queries), default=0)
    return [
        IndexQuery(partial(_first, hits), partial(index.score_key, key))
        for hits, key in zip(index.search_keys(keys, most), keys, strict=True)
    ]


def _first(hits: Sequence[Hit], count: int) -> list[Hit]:
    return list(hits[:count])
