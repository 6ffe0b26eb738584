"""What the engine returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from askonce.errors import AskonceError
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.ranker import WordsExplained


class NotReady(AskonceError):
    """The engine is still opening its archive; try again in a moment."""


@dataclass(frozen=True)
class SimilarQuestion:
    """A question of the archive that may be the one being asked."""

    post: Post
    score: float
    stages: Mapping[str, float]  # what each stage gave it
    words: Sequence[str]  # its words that the question shares, as it writes them
    duplicate_of: str | None
    answers: int
    accepted: bool  # one of its answers is
    duplicate_probability: float | None = None  # unknown without a calibrated model


@dataclass(frozen=True)
class RankedAnswer:
    """An answer of the archive, with the question that it was given to."""

    post: Post
    question: Post
    score: float
    stages: Mapping[str, float]
    words: Sequence[str]


@dataclass(frozen=True)
class StageScore:
    """One stage of a ranking: its score, how that compares with all candidates, its weight."""

    name: str
    score: float
    z: float
    weight: float


@dataclass(frozen=True)
class Why:
    """Why a post stands where it stands."""

    score: float
    stages: Sequence[StageScore]
    words: "Sequence[WordsExplained]"  # by what the models weigh words; empty without a model
    shared: Sequence[str]


@dataclass(frozen=True)
class Status:
    """How far an engine has come."""

    ready: bool
    archive: str
    posts: int
    change: int  # of the archive
    indexed: int  # the change that search has reached
    model: str | None  # in service
    building: str | None  # what is being made now
    read_only: bool  # another process keeps the indexes
