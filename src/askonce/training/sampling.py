"""Training examples: groups of a query with right and wrong candidates, sampled for each epoch.

The random generator is seeded by the run and the epoch, so an epoch is the same after a resume and
on any number of processes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, TypeVar

import numpy as np

from askonce.errors import AskonceError
from askonce.training.recipe import Negatives
from askonce.types import Dataset, Pool, Post, Split, candidates

T = TypeVar("T")
ScorePools = Callable[[Sequence[Pool]], list[np.ndarray]]
UNLABELLED = -1  # in place of a label; only a teacher has an opinion on the pair


class Group(NamedTuple):
    """A query with a sample of its candidates and their labels."""

    query: Post
    candidates: tuple[Post, ...]
    labels: tuple[int, ...]
    weight: float = 1.0  # of its loss


class Right(NamedTuple):
    """The right posts of a query, which must never be negatives.

    Forums contain copies, so a post with the text of a right one is right too, whatever its id.
    """

    ids: frozenset[str]
    texts: frozenset[str]

    def holds(self, post: Post) -> bool:
        return post.id in self.ids or post.text in self.texts


def known_right(pools: Iterable[Pool]) -> dict[str, Right]:
    """The right posts by query id: those of all pools whose query has the same text, and itself."""
    by_text: dict[str, list[Post]] = {}
    queries: dict[str, Post] = {}
    for pool in pools:
        queries[pool.query.id] = pool.query
        by_text.setdefault(pool.query.text, []).extend(pool.positives)
    right = {
        text: Right(frozenset(p.id for p in posts), frozenset([text, *(p.text for p in posts)]))
        for text, posts in by_text.items()
    }
    return {id_: right[query.text] for id_, query in queries.items()}


def drawn_in_order(items: Sequence[T], count: int, seed: int) -> Sequence[T]:
    """``count`` items at random in their order; all if there are fewer."""
    if len(items) <= count:
        return items
    rows = np.random.default_rng(seed).choice(len(items), count, replace=False)
    return [items[row] for row in np.sort(rows)]


def split_of(dataset: Dataset, name: str) -> Split:
    """A split by name or role; an error lists the splits that exist."""
    try:
        return dataset.split(name)
    except KeyError:
        names = ", ".join(dataset.splits) or "none"
        raise AskonceError(
            f"dataset {dataset.name!r} has no split {name!r}; it has: {names}"
        ) from None


@dataclass
class GroupSampler:
    """Samples the groups of an epoch from labelled pools.

    A right post, even one that the pool missed, or a copy of one is never a negative.
    """

    dataset: Dataset
    split: str
    negatives: Negatives
    seed: int = 1
    positives: int | None = None  # right posts of a query in an epoch; None for all

    def __post_init__(self) -> None:
        pools = split_of(self.dataset, self.split)
        self._pools = [pool for pool in pools if pool.positives or self.negatives.unanswered]
        if not any(pool.positives for pool in self._pools):
            raise AskonceError(
                f"no question of split {self.split!r} has a right candidate; nothing to learn from"
            )
        self.right = known_right(self._pools)
        # without a corpus, the texts of this split: those of dev and test must not be trained on
        posts = {post.id: post for post in self.dataset.corpus or candidates(pools)}
        self._everything = list(posts.values())
        self._own: dict[str, list[Post]] = {}  # cached negatives by query

    def epoch(self, number: int, scores: ScorePools | None = None) -> list[Group]:
        """The groups of one epoch in random order; ``mix`` ranks the pools by ``scores``."""
        rng = Random(f"{self.seed}/{number}")
        if self.negatives.source == "all":
            labelled = map(self._as_labelled, self._pools)
            every = self.negatives.unanswered
            groups = [g for g in labelled if any(label > 0 or every for label in g.labels)]
        elif self.negatives.source == "mix" and number > 1 and scores is not None:
            groups = list(self._mixed(rng, scores))
        else:
            count = self.negatives.drawn(number)
            groups = [
                _group(pool, right, self._wrong(pool, rng, count))
                for pool in self._pools
                for right in self._drawn(pool, rng)
            ]
        self._need_both_kinds(groups)
        rng.shuffle(groups)
        return groups

    def _drawn(self, pool: Pool, rng: Random) -> Sequence[Post]:
        """The right posts of an epoch."""
        right = pool.positives
        few = self.positives is None or len(right) <= self.positives
        return right if few else rng.sample(right, self.positives or 0)

    def _need_both_kinds(self, groups: Sequence[Group]) -> None:
        if self.negatives.source == "batch":  # right answers of other queries are the negatives
            enough = len({group.query.id for group in groups}) > 1
        else:
            enough = any(label <= 0 for group in groups for label in group.labels)
        if not enough:
            raise AskonceError(
                f"no question of split {self.split!r} has a wrong candidate "
                f"(train.negatives.source = {self.negatives.source!r}); add candidates, more "
                "questions, or a corpus to sample from"
            )

    def _as_labelled(self, pool: Pool) -> Group:
        """The pool without negatives that are copies of right posts."""
        right = self.right[pool.query.id]
        pool = pool.with_pairs(
            [pair for pair in pool.pairs if pair[1] > 0 or not right.holds(pair[0])]
        )
        return Group(pool.query, pool.candidates, pool.labels, pool.weight)

    def _wrong(self, pool: Pool, rng: Random, count: int) -> Sequence[Post]:
        if self.negatives.source == "batch":
            own = self._own_wrong(pool) if self.negatives.hard else []
            return rng.sample(own, min(self.negatives.hard, len(own)))
        # a pool without negatives samples them from the corpus
        if self.negatives.source != "corpus" and (own := self._own_wrong(pool)):
            return rng.sample(own, min(count, len(own)))
        return self._from_corpus(pool, rng, count)

    def _own_wrong(self, pool: Pool) -> list[Post]:
        query = pool.query.id
        if query not in self._own:
            self._own[query] = self._allowed(pool, pool.negatives)
        return self._own[query]

    def _from_corpus(self, pool: Pool, rng: Random, count: int) -> Sequence[Post]:
        """Sample a few spares, then drop right posts; scan the corpus if too few remain."""
        everything = self._everything
        spare = len(self.right[pool.query.id].ids) + 4
        sample = rng.sample(everything, min(count + spare, len(everything)))
        allowed = self._allowed(pool, sample)
        if len(allowed) < count and len(sample) < len(everything):
            allowed = self._allowed(pool, rng.sample(everything, len(everything)))
        return allowed[:count]

    def _allowed(self, pool: Pool, posts: Iterable[Post]) -> list[Post]:
        """The distinct posts that are not right for the query."""
        right = self.right[pool.query.id]
        return list({post.id: post for post in posts if not right.holds(post)}.values())

    def _mixed(self, rng: Random, scores: ScorePools) -> Iterator[Group]:
        count = self.negatives.count
        for pool, ranked in zip(self._pools, scores(self._pools), strict=True):
            score = dict(zip((post.id for post in pool.candidates), ranked.tolist(), strict=True))
            hardest_first = sorted(self._own_wrong(pool), key=lambda post: -score[post.id])
            hard, others = hardest_first[: count // 2], hardest_first[count // 2 :]
            for right in self._drawn(pool, rng):
                drawn = [*hard, *rng.sample(others, min(count - len(hard), len(others)))]
                yield _group(pool, right, drawn or self._from_corpus(pool, rng, count))


def _group(pool: Pool, right: Post, wrong: Sequence[Post]) -> Group:
    return Group(pool.query, (right, *wrong), (1,) + (0,) * len(wrong), pool.weight)
