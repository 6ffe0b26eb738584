"""Dev and test of an archive, searched with the pipeline that serves."""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from askonce.index.base import KeyEncoder
from askonce.index.lexical import LexicalIndex
from askonce.index.vectors import VectorIndex
from askonce.ranker import Ranker
from askonce.ranking.manifest import Serving
from askonce.ranking.pipeline import Search
from askonce.ranking.stages import Candidates, Query, Ranked
from askonce.training.archive.tasks.labels import LabelledQuery
from askonce.training.archive.tasks.pools import LabelledTask
from askonce.types import Post

BATCH = 64  # questions that a pair model reads at a time


@dataclass(frozen=True, eq=False)
class EncodedPosts:
    """The posts of a task as the keys of one encoder, encoded once for dev and test."""

    name: str  # of the encoder
    location: str  # of the encoder, as the manifest names it
    coder: KeyEncoder
    keys: np.ndarray  # (N, K)
    teacher: str | None = None  # whose space the keys are in
    # beside BM25, where no label tells; None for an encoder that has learnt from labels
    usual_weight: float | None = None


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The labelled questions of dev or test, and the posts that existed when they were asked."""

    queries: Sequence[LabelledQuery]
    by_id: Mapping[str, Post]
    by_text: Mapping[str, Set[str]]  # ids of the posts with a text
    lexical: LexicalIndex

    @classmethod
    def of(cls, task: LabelledTask, split: str) -> "HeldOut":
        """Index the posts of a split and of the splits before it."""
        posts = task.posts[: task.seen[split]]
        by_text: defaultdict[str, set[str]] = defaultdict(set)
        for post in posts:
            by_text[post.text].add(post.id)
        lexical = LexicalIndex.of(posts, forgiving=True)
        return cls(task.queries[split], {post.id: post for post in posts}, by_text, lexical)

    def posts(self, ids: Sequence[str], html: bool = True) -> dict[str, Post]:
        return {name: self.by_id[name] for name in ids}

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        return {name: self.by_id[name].title for name in ids}

    def pipeline(
        self, serving: Serving, encoder: EncodedPosts | None = None, pair: Ranker | None = None
    ) -> Search:
        """The pipeline that serves, over the posts of this split."""
        vectors = None
        if encoder is not None:
            vectors = VectorIndex(None, encoder.coder)
            vectors.add_keys(list(self.by_id), encoder.keys[: len(self.by_id)])
        return Search(self, self.lexical, vectors, pair, serving)

    def find(self, pipeline: Search, queries: Sequence[LabelledQuery]) -> list[Candidates]:
        """The candidates of each question, with the raw scores of the first stages."""
        return pipeline.find([Query(x.query.text, barred=self._barred(x)) for x in queries])

    def rank(self, pipeline: Search, queries: Sequence[LabelledQuery]) -> list[Ranked]:
        """The order that the pipeline serves for each question."""
        fusion = pipeline.serving.fusion
        ranked = [fusion.join(candidates) for candidates in self.find(pipeline, queries)]
        if pipeline.pair is None:
            return ranked
        return [fusion.join(candidates) for candidates in read_pairs(pipeline, queries, ranked)]

    def _barred(self, query: LabelledQuery) -> frozenset[str]:
        """Unlabelled posts that may be right: linked ones, copies of the query or a right post."""
        texts = {query.query.text, *(post.text for post in query.right)}
        copies = (self.by_text.get(text, frozenset()) for text in texts)
        return query.unjudged.union(*copies) - query.right_ids


def read_pairs(
    pipeline: Search, queries: Sequence[LabelledQuery], ranked: Sequence[Ranked]
) -> list[Candidates]:
    """The candidates that the pair model reads, with its scores, in batches of questions."""
    texts = [Query(query.query.text) for query in queries]
    return [
        candidates
        for n in range(0, len(texts), BATCH)
        for candidates in pipeline.read_pairs(texts[n : n + BATCH], ranked[n : n + BATCH])
    ]
