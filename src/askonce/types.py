"""Data types without tensors: posts, pools, datasets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal, TypedDict, TypeVar, cast

T = TypeVar("T")
PostKind = Literal["question", "answer"]
LinkKind = Literal["duplicate", "related"]
TokeniserName = Literal["words", "whitespace"]
Role = Literal["train", "dev", "test"]
ProtocolName = Literal["trec", "clean", "drop_no_pos"]
TaskName = Literal["questions", "answers"]  # what an archive's rankers are for
TextPair = tuple[str, str]  # the texts of a query and of a candidate


class Origin(TypedDict):
    """Where a post was published, by whom and under which licence."""

    url: str | None
    author: str | None  # display name
    author_url: str | None
    site: str | None  # the forum's name
    licence: str | None


def evenly_spaced(items: Sequence[T], count: int) -> list[T]:
    """``count`` evenly spaced items; all if there are fewer."""
    count = min(count, len(items))
    return [items[n * len(items) // count] for n in range(count)]


def utc_now() -> str:
    """The time in ISO 8601, as all files and tables have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


SOURCE_FIELDS = tuple(Origin.__annotations__)  # of a Post


@dataclass(frozen=True, slots=True)
class Post:
    """A question or an answer, with its forum data."""

    id: str
    title: str = ""
    body: str = ""
    kind: PostKind = "question"
    parent: str | None = None  # the question that an answer answers
    score: int | None = None  # votes
    accepted: bool = False
    tags: tuple[str, ...] = ()
    created: str | None = None  # ISO 8601
    html: str = ""  # the formatted body, not sanitised; "" if the body is plain text
    url: str | None = None  # where the post was published
    author: str | None = None  # display name
    author_url: str | None = None
    site: str | None = None  # the name of the forum that published it
    licence: str | None = None  # under which it was published

    @property
    def source(self) -> Origin:
        return cast(Origin, {name: getattr(self, name) for name in SOURCE_FIELDS})

    @property
    def text(self) -> str:
        return f"{self.title}\n{self.body}" if self.title and self.body else self.title or self.body


@dataclass(frozen=True, slots=True)
class Link:
    """One question points at another: ``source`` is a duplicate of, or related to, ``target``."""

    source: str
    target: str
    kind: LinkKind = "duplicate"


@dataclass(frozen=True, slots=True)
class Pool:
    """One query, its candidates and their labels: the unit of training and of evaluation.

    ``labels`` are 0 for irrelevant and 1 or more for relevant. ``missed`` are relevant posts that
    the first-stage search did not retrieve: they are not candidates but count as relevant, so that
    a weak first stage does not inflate metrics. ``given`` are scores published with the data.
    ``weight`` is that of its loss in training.
    """

    query: Post
    candidates: tuple[Post, ...]
    labels: tuple[int, ...]
    missed: tuple[Post, ...] = ()
    given: tuple[float, ...] | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        for name, values in (("labels", self.labels), ("given", self.given)):
            if values is not None and len(values) != len(self.candidates):
                raise ValueError(
                    f"pool {self.query.id!r} has {len(self.candidates)} candidates "
                    f"but {len(values)} {name}"
                )

    @property
    def pairs(self) -> Iterator[tuple[Post, int]]:
        """The candidates with their labels."""
        return zip(self.candidates, self.labels, strict=True)

    @property
    def positives(self) -> tuple[Post, ...]:
        """All relevant posts, retrieved or missed."""
        return (*(post for post, label in self.pairs if label > 0), *self.missed)

    @property
    def negatives(self) -> tuple[Post, ...]:
        return tuple(post for post, label in self.pairs if label <= 0)

    def with_pairs(self, pairs: Sequence[tuple[Post, int]]) -> "Pool":
        """The pool with other candidates, for which no scores are given."""
        posts, labels = tuple(post for post, _ in pairs), tuple(label for _, label in pairs)
        return replace(self, candidates=posts, labels=labels, given=None)


Split = Sequence[Pool]


@dataclass(frozen=True)
class Dataset:
    """Named splits of Pools, and which of them are train, dev and test."""

    name: str
    splits: Mapping[str, Split]
    train: str = "train"
    dev: str = "dev"
    test: str = "test"
    protocol: ProtocolName = "trec"
    tokeniser: TokeniserName = "words"
    corpus: Sequence[Post] = ()  # all possible candidates, where they are more than the pools

    def role(self, role: Role) -> Split:
        """The split for a role; TrecQA, for one, trains on ``train-all``."""
        return self.splits[getattr(self, role)]

    def split(self, name: str) -> Split:
        """A split by its name, or by its role if no split has that name."""
        roles = {"train": self.train, "dev": self.dev, "test": self.test}
        return self.splits[name if name in self.splits else roles.get(name, name)]

    @cached_property
    def posts(self) -> dict[str, Post]:
        """Every candidate of every split and of the corpus, by id."""
        posts = {post.id: post for post in self.corpus}
        for post in candidates(pool for split in self.splits.values() for pool in split):
            posts.setdefault(post.id, post)
        return posts


def candidates(pools: Iterable[Pool]) -> Iterator[Post]:
    """Every candidate or missed post; a post of several pools is repeated."""
    for pool in pools:
        yield from pool.candidates
        yield from pool.missed
