"""The texts that a student reads beside its teacher, and those that BM25 adds to pools."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from askonce.index.lexical import LexicalIndex
from askonce.teachers.teacher import Teacher
from askonce.text.batch import TokenIds
from askonce.text.lexicon import Lexicon
from askonce.training.events import OnEvent, Reading, ignore
from askonce.training.sampling import UNLABELLED, Right, drawn_in_order, known_right, split_of
from askonce.types import Dataset, Pool, Post, candidates

SHORTEST, LONGEST = 3, 400  # words and characters of a sentence
_END = re.compile(r"(?<=[.!?])\s+|\n+")


def sentences(text: str) -> list[str]:
    """The sentences of a text; code, tables and scraps of a word or two are left out."""
    parts = (part.strip() for part in _END.split(text))
    return [part for part in parts if len(part.split()) >= SHORTEST and len(part) < LONGEST]


def archive_posts(dataset: Dataset) -> Iterator[Post]:
    """The posts that an archive has at the time of training, without labels.

    These are all candidates and the questions of the training split. Questions of dev and test are
    what readers will ask: they are left out, unless they are candidates too.
    """
    yield from dataset.posts.values()
    train = dataset.splits.get(dataset.train, ())
    yield from {pool.query.id: pool.query for pool in train}.values()


def texts_of(
    posts: Iterator[Post], limit: int, split: bool = True, seed: int = 1
) -> Sequence[str | Post]:
    """Distinct whole posts, titles and sentences; a sample if there are more than ``limit``."""
    distinct: dict[str, str | Post] = {}
    for post in posts:
        if split:
            for text in (post.title, *sentences(post.text)):
                distinct.setdefault(text, text)
        distinct.setdefault(post.text, post)
    distinct.pop("", None)
    return drawn_in_order(list(distinct.values()), limit, seed)


def read_beside(
    lexicon: Lexicon, teacher: Teacher, texts: Sequence[str | Post], on_event: OnEvent = ignore
) -> list[TokenIds]:
    """Texts as a student reads them, each with the teacher's vector of it."""
    plain = [text.text if isinstance(text, Post) else text for text in texts]
    vectors = teacher.encode(plain, lambda done, total: on_event(Reading(done, total)))  # (n, D)
    ids = lexicon.read(texts)
    return [one._replace(vector=vector) for one, vector in zip(ids, vectors, strict=True)]


def with_mined(dataset: Dataset, split: str, count: int) -> Dataset:
    """The dataset with up to ``count`` unlabelled texts more in each pool of the split.

    They come from the other pools of the split, or from the corpus. Known right texts, copies of
    them and texts of the pool itself are left out.
    """
    if count == 0:
        return dataset
    pools = split_of(dataset, split)
    posts = {post.id: post for post in dataset.corpus or candidates(pools)}
    index = LexicalIndex.of(posts.values(), dataset.tokeniser)
    right = known_right(pools)

    def longer(pool: Pool) -> Pool:
        own = right[pool.query.id]
        inside = Right(
            own.ids | {post.id for post in pool.candidates},
            own.texts | {post.text for post in pool.candidates},
        )
        hits = index.search(pool.query.text, count + len(inside.ids))
        fresh = [posts[hit.id] for hit in hits if not inside.holds(posts[hit.id])][:count]
        labels = (*pool.labels, *[UNLABELLED] * len(fresh))
        return replace(pool, candidates=(*pool.candidates, *fresh), labels=labels, given=None)

    return replace(dataset, splits={**dataset.splits, split: tuple(map(longer, pools))})
