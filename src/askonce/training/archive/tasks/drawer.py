"""Candidate pools for labelled queries: BM25's results and random posts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from askonce.data.benchmarks.pools import stable_hash
from askonce.index.lexical import LexicalIndex
from askonce.training.archive.tasks.labels import LabelledQuery
from askonce.types import Pool, Post

TRAIN_NEAR, TRAIN_RANDOM = 15, 15  # negatives besides the labelled ones
TRAIN_WORDS = 50  # first words of a query that are searched for
NEAR, SIZE = 50, 100  # of a dev or test pool: results of BM25, and candidates in all


@dataclass
class Drawer:
    seed: int
    given: bool = False  # labelled posts are in every pool, even if BM25 misses them
    _posts: list[Post] = field(default_factory=list)
    _by_id: dict[str, Post] = field(default_factory=dict)
    _index: LexicalIndex = field(default_factory=LexicalIndex)

    def add(self, posts: Sequence[Post]) -> None:
        self._index.add(posts)
        self._posts += posts
        self._by_id.update((post.id, post) for post in posts)

    def pool(self, example: LabelledQuery, train: bool) -> Pool:
        """The pool of an example; a training pool contains all right posts."""
        rng = np.random.default_rng((self.seed, int(stable_hash(example.query.id), 16)))
        right = {post.id for post in example.right}
        labelled = (*example.right, *example.wrong) if train or self.given else ()
        chosen = {post.id: post for post in labelled}
        near, size = len(chosen) + TRAIN_NEAR, len(chosen) + TRAIN_NEAR + TRAIN_RANDOM
        if not train:
            near, size = NEAR, max(SIZE, len(chosen))
        # searching for all words of a long query is slow and finds no better negatives
        words = example.query.text.split()[: TRAIN_WORDS if train else None]
        results = self._near(" ".join(words), example, near)
        _fill(chosen, near, results, allowed(example, right))
        _fill(chosen, size, self._random(rng, example, size), allowed(example))
        posts = list(chosen.values())
        posts = [posts[index] for index in rng.permutation(len(posts))]
        return Pool(
            example.query,
            tuple(posts),
            tuple(int(post.id in right) for post in posts),
            missed=tuple(post for post in example.right if post.id not in chosen),
            weight=example.weight,
        )

    def near(self, example: LabelledQuery, count: int) -> list[Post]:
        """What BM25 finds first, beside the question itself."""
        results = self._near(example.query.text, example, count)
        return [post for post in results if post.id != example.query.id][:count]

    def _near(self, words: str, example: LabelledQuery, count: int) -> list[Post]:
        """BM25's results, with spares for those that are not allowed."""
        spare = len(example.right) + len(example.wrong) + len(example.unjudged)
        hits = self._index.search(words, count + spare)
        return [self._by_id[hit.id] for hit in hits]

    def _random(self, rng: np.random.Generator, example: LabelledQuery, count: int) -> list[Post]:
        spare = len(example.right) + len(example.wrong) + len(example.unjudged)
        count = min(2 * count + spare, len(self._posts))
        return [self._posts[n] for n in rng.choice(len(self._posts), count, replace=False)]


def allowed(example: LabelledQuery, right: Iterable[str] = ()) -> Callable[[Post], bool]:
    """A test for posts that may be drawn: not unjudged, no copy of the query or of a right post."""
    excluded = example.unjudged | ({post.id for post in example.right} - set(right))
    texts = {example.query.text, *(post.text for post in example.right)}
    return lambda post: post.id not in excluded and (post.id in right or post.text not in texts)


def _fill(
    chosen: dict[str, Post], size: int, posts: Iterable[Post], permitted: Callable[[Post], bool]
) -> None:
    for post in posts:
        if len(chosen) >= size:
            return
        if permitted(post):
            chosen.setdefault(post.id, post)
