"""What an engine would rank for the questions of dev and test: candidates and scores by stage."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from askonce.index.base import KeyEncoder
from askonce.index.lexical import LexicalIndex
from askonce.training.archive.labels import Example
from askonce.training.archive.pools import ArchiveTask
from askonce.training.pool_drawer import allowed
from askonce.types import Pool, Post

CANDIDATES = 50  # that each of BM25 and vectors brings in, and that a pair model re-ranks
SPARE = 10  # found beyond that, since copies of the query and of right posts are left out
QUERIES = 64  # compared with all posts at a time


@dataclass(frozen=True, eq=False)
class Found:
    """One question with the candidates that were found for it and their raw scores by stage."""

    pool: Pool
    scores: Mapping[str, np.ndarray]  # of "bm25", "vectors", "pair": (C,) each

    def first(self, fused: np.ndarray) -> "Found":
        """The candidates that a pair model gets to see: the best by this score."""
        places = best_places(fused, CANDIDATES).tolist()
        pool = self.pool
        kept = [pool.candidates[place] for place in places]
        left = set(range(len(fused))).difference(places)
        missed = [pool.candidates[place] for place in left if pool.labels[place] > 0]
        return Found(
            replace(
                pool,
                candidates=tuple(kept),
                labels=tuple(pool.labels[place] for place in places),
                missed=(*pool.missed, *missed),
            ),
            {stage: values[places] for stage, values in self.scores.items()},
        )


class Vectors:
    """The posts of a task as keys, coded once."""

    def __init__(self, coder: KeyEncoder, posts: Sequence[Post]) -> None:
        self._coder = coder
        self.keys = coder.candidate_keys(posts)  # (N, K)

    def scores(self, queries: Sequence[Post], seen: int) -> Iterator[np.ndarray]:
        """For each query, one score (seen,) per post that was there."""
        for start in range(0, len(queries), QUERIES):
            texts = [query.text for query in queries[start : start + QUERIES]]
            yield from self._coder.query_keys(texts) @ self.keys[:seen].T


class ArchiveSearch:
    """Searches what was there when the questions of a split were asked."""

    def __init__(self, task: ArchiveTask, split: str) -> None:
        self._posts = task.posts[: task.seen[split]]
        self._place = {post.id: place for place, post in enumerate(self._posts)}
        self.index = LexicalIndex()
        self.index.add(self._posts)

    def find(self, examples: Sequence[Example], vectors: Vectors | None = None) -> list[Found]:
        """The union of what BM25 and the vectors find first, with the scores of both."""
        if vectors is None:
            return [self._found(example, None) for example in examples]
        queries = [example.query for example in examples]
        near = vectors.scores(queries, len(self._posts))
        return [self._found(e, s) for e, s in zip(examples, near, strict=True)]

    def _found(self, example: Example, near: np.ndarray | None) -> Found:
        right = {post.id for post in example.right}
        may_be_found = allowed(example, right)
        spare = CANDIDATES + len(example.unjudged) + SPARE
        hits = self.index.search(example.query.text, spare)
        chosen = _first((self._posts[self._place[hit.id]] for hit in hits), may_be_found)
        if near is not None:
            best = best_places(near, spare).tolist()
            chosen |= _first((self._posts[place] for place in best), may_be_found)
        posts = tuple(chosen.values())
        labels = tuple(int(post.id in right) for post in posts)
        missed = tuple(post for post in example.right if post.id not in chosen)
        pool = Pool(example.query, posts, labels, missed)
        scores = {"bm25": self.index.score(example.query.text, list(chosen))}
        if near is not None:
            scores["vectors"] = near[[self._place[post.id] for post in posts]]
        return Found(pool, scores)


def best_places(scores: np.ndarray, count: int) -> np.ndarray:
    """The places of the greatest scores, the greatest first."""
    if count < len(scores):
        some = np.argpartition(-scores, count)[:count]
        return some[np.argsort(-scores[some], kind="stable")]
    return np.argsort(-scores, kind="stable")


def _first(posts: Iterable[Post], may_be_found: Callable[[Post], bool]) -> dict[str, Post]:
    found: dict[str, Post] = {}
    for post in posts:
        if len(found) == CANDIDATES:
            break
        if may_be_found(post):
            found[post.id] = post
    return found
