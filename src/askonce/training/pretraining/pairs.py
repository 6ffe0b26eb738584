"""Training examples of the encoder-decoder: texts from which to generate a title."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from askonce.data.benchmarks.pools import stable_hash
from askonce.errors import AskonceError
from askonce.types import Dataset, Post

HELD_OUT, MOST_HELD_OUT = 0.05, 2_000  # share and number of questions; the authors hold out 2,000


class TitleExample(NamedTuple):
    """Two source texts and the title to generate from each; a body may be empty."""

    title: str
    body: str
    target: str


@dataclass(frozen=True)
class TitleExamples:
    """Examples for training, and held-out ones whose questions are in no training example."""

    train: list[TitleExample]
    heldout: list[TitleExample]


class _Source(NamedTuple):
    questions: tuple[Post, ...]  # whose titles are source or target
    example: TitleExample


def pretraining_pairs(dataset: Dataset, seed: int = 1) -> TitleExamples:
    """The examples of a dataset.

    Each question with a title and a body is one; so is each training question with a right answer
    as its body. Two questions that are labelled as duplicates make two, one each way; labels of dev
    and test questions are not used. A seeded hash of ids chooses the held-out questions; these and
    questions with the same title are in no training example.
    """
    own, duplicates = list(_own(dataset)), list(_duplicates(dataset))
    ids = sorted({source.questions[0].id for source in own}, key=lambda id: stable_hash(seed, id))
    if len(ids) < 2:
        raise AskonceError(
            f"{dataset.name!r} has {len(ids)} questions with a title and a body or a right answer; "
            "pre-training needs at least 2"
        )
    held = set(ids[: min(max(1, round(HELD_OUT * len(ids))), MOST_HELD_OUT)])
    heldout = [source for source in own if source.questions[0].id in held]
    titles = {_plain(source.example.target) for source in heldout}
    train = [
        source.example
        for source in [*own, *duplicates]
        if not any(post.id in held or _plain(post.title) in titles for post in source.questions)
    ]
    if not train:
        raise AskonceError(
            f"all questions of {dataset.name!r} have the same title; nothing to train on"
        )
    return TitleExamples(train, [source.example for source in heldout])


def _own(dataset: Dataset) -> Iterator[_Source]:
    """From a question's body, or a right answer to it, to its title."""
    queries = (pool.query for pool in dataset.role("train"))
    for post in {post.id: post for post in (*dataset.posts.values(), *queries)}.values():
        if post.kind == "question" and post.title and post.body:
            yield _Source((post,), TitleExample(post.title, post.body, post.title))
    for pool in dataset.role("train"):
        query = pool.query
        for post in pool.positives:
            if post.kind == "answer" and query.title:
                yield _Source((query,), TitleExample(query.title, post.text, query.title))


def _duplicates(dataset: Dataset) -> Iterator[_Source]:
    """From each of two duplicate questions to the other's title."""
    excluded = {
        pool.query.id
        for name in {dataset.dev, dataset.test} & dataset.splits.keys()
        for pool in dataset.splits[name]
    }
    for pool in dataset.role("train"):
        for post in pool.positives:
            pair = (pool.query, post)
            if post.kind != "question" or not excluded.isdisjoint(p.id for p in pair):
                continue
            for one, other in (pair, pair[::-1]):
                if one.title and other.title:
                    yield _Source(pair, TitleExample(one.title, one.body, other.title))


def _plain(title: str) -> str:
    return " ".join(title.casefold().split())
