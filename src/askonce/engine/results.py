"""What the engine returns. HTTP, ``askonce ask --json`` and the page show these same fields."""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from askonce.errors import AskonceError
from askonce.types import Post

JsonObject = dict[str, JsonValue]

# examples for the OpenAPI document
SIMILAR: JsonObject = json.loads("""{
    "id": "q002", "title": "Why do I keep getting punctures in my rear tyre?",
    "excerpt": "Third flat in two weeks, always the rear.",
    "score": 11.2, "duplicate_probability": 0.83, "claimed": true, "close": true,
    "duplicate_of": null, "duplicate_of_title": null, "matched": "q002", "pinned": false,
    "folded": [{"id": "q117", "title": "Rear tyre flat every week"}],
    "answers": 3, "accepted": true, "votes": 48, "tags": ["punctures", "tyres"],
    "created": "2021-02-01T16:43:25Z", "stages": {"bm25": 11.2}, "words": ["rear", "tyre"],
    "url": "https://bikes.example/questions/2", "author": "Ada",
    "author_url": "https://bikes.example/users/7", "site": "bikes.example",
    "licence": "CC BY-SA 4.0"
}""")
ANSWER: JsonObject = json.loads("""{
    "id": "a005", "question_id": "q002",
    "question_title": "Why do I keep getting punctures in my rear tyre?",
    "thread": "q002", "thread_title": "Why do I keep getting punctures in my rear tyre?",
    "text": "Run a finger along the inside of the tyre; a thorn is often still in it.", "html": "",
    "score": 9.7, "votes": 61, "accepted": true, "created": "2021-02-01T18:00:00Z",
    "stages": {"bm25": 9.7}, "words": ["tyre"], "url": "https://bikes.example/a/5",
    "author": "Ben", "author_url": "https://bikes.example/users/9", "site": "bikes.example",
    "licence": "CC BY-SA 4.0"
}""")
WHY: JsonObject = json.loads("""{
    "id": "q002", "score": 11.2, "words": [], "shared": ["tyre"],
    "stages": [{"name": "bm25", "score": 11.2, "z": 2.1, "weight": 1.0}]
}""")
STATUS: JsonObject = json.loads("""{
    "ready": true, "archive": "bicycles", "posts": 741, "change": 741, "indexed": 741,
    "model": null, "building": null, "read_only": false, "read": null
}""")


class NotReady(AskonceError):
    """The engine is still opening its archive; try again in a moment."""


def shown_as(example: JsonObject) -> ConfigDict:
    """A closed, frozen model with this example in the OpenAPI document."""
    return ConfigDict(frozen=True, extra="forbid", json_schema_extra={"examples": [example]})


class FoldedQuestion(BaseModel):
    """A duplicate that is shown as its original."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: str


class Sourced(BaseModel):
    """Where a post was published, by whom and under which licence, as far as known."""

    id: str
    url: str | None = None
    author: str | None = None
    author_url: str | None = None
    site: str | None = None
    licence: str | None = None


class SimilarQuestion(Sourced):
    """A question in the archive that may be the one being asked."""

    model_config = shown_as(SIMILAR)

    post: Post = Field(exclude=True, repr=False)
    title: str
    excerpt: str
    score: float
    duplicate_probability: float | None  # None unless it was calibrated for these stages
    claimed: bool  # whether that is high enough to say that it is the same question
    close: bool  # whether that is high enough to show it without a request
    duplicate_of: str | None  # the question it was marked as a duplicate of
    duplicate_of_title: str | None
    matched: str  # the id that matches best: its own, or that of a folded duplicate
    pinned: bool  # by the operator, to questions like this
    folded: list[FoldedQuestion]  # its duplicates that match, best first
    answers: int  # with those to its folded duplicates
    accepted: bool  # whether one of its answers is accepted
    votes: int | None
    tags: tuple[str, ...]
    created: str | None
    stages: dict[str, float]  # the score of each stage
    words: list[str]  # words it shares with the question, as written in the post


class RankedAnswer(Sourced):
    """An answer in the archive; ``html`` is sanitised, and empty if the post is plain text."""

    model_config = shown_as(ANSWER)

    post: Post = Field(exclude=True, repr=False)
    question: Post = Field(exclude=True, repr=False)
    question_id: str
    question_title: str
    thread: str  # the question, or the original that it is a duplicate of
    thread_title: str
    text: str
    html: str
    score: float
    votes: int | None
    accepted: bool
    created: str | None
    stages: dict[str, float]
    words: list[str]


class StageScore(BaseModel):
    """One stage of a ranking: score, z-score among the candidates, and weight."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    score: float
    z: float
    weight: float


class WordWeights(BaseModel):
    """How much each word on one side of a pair counts for a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    side: Literal["query", "candidate"]
    words: list[str]
    weights: list[float]


class Why(BaseModel):
    """Why a post has the rank it has."""

    model_config = shown_as(WHY)

    id: str
    score: float
    stages: list[StageScore]
    words: list[WordWeights]  # empty without a model that weighs words
    shared: list[str]


class Status(BaseModel):
    """Whether the engine is ready, and what it is working on."""

    model_config = shown_as(STATUS)

    ready: bool
    archive: str
    posts: int
    change: int  # latest change of the archive
    indexed: int  # latest change that is indexed
    model: str | None  # in service
    building: str | None  # what is being built or loaded now
    read_only: bool  # another process owns the indexes
    read: float | None  # share of the posts whose vectors are the teacher's; None: one encoder
