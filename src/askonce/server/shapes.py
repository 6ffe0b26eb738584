"""What the HTTP interface returns, as the OpenAPI document shows it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from askonce.archive import Written
from askonce.engine import RankedAnswer, SimilarQuestion, Status, Why
from askonce.server.examples import closed, growing
from askonce.server.sanitise import safe_html
from askonce.types import Post

EXCERPT = 240  # characters


class Shape(BaseModel):
    """A value of the HTTP interface."""

    model_config = ConfigDict(extra="forbid")


class ErrorDetail(Shape):
    """What went wrong."""

    type: str
    message: str


class Error(Shape):
    """Every error looks like this."""

    model_config = closed(error={"type": "invalid", "message": "q: field required"})

    error: ErrorDetail


SIMILAR: dict[str, JsonValue] = {
    "id": "q002",
    "title": "Why do I keep getting punctures in my rear tyre?",
    "excerpt": "Third flat in two weeks, always the rear.",
    "score": 11.2,
    "duplicate_probability": 0.83,
    "duplicate_of": None,
    "answers": 3,
    "accepted": True,
    "votes": 48,
    "tags": ["punctures", "tyres"],
    "created": "2021-02-01T16:43:25Z",
    "stages": {"bm25": 11.2},
    "words": ["rear", "tyre"],
}
ANSWER: dict[str, JsonValue] = {
    "id": "a005",
    "question_id": "q002",
    "question_title": "Why do I keep getting punctures in my rear tyre?",
    "text": "Run a finger along the inside of the tyre; a thorn is often still in it.",
    "html": "",
    "score": 9.7,
    "votes": 61,
    "accepted": True,
    "created": "2021-02-01T18:00:00Z",
    "stages": {"bm25": 9.7},
    "words": ["tyre"],
}


class Similar(Shape):
    """A question already asked."""

    id: str
    title: str
    excerpt: str
    score: float
    duplicate_probability: float | None
    duplicate_of: str | None
    answers: int
    accepted: bool
    votes: int | None
    tags: Sequence[str]
    created: str | None
    stages: Mapping[str, float]
    words: Sequence[str]

    @classmethod
    def of(cls, hit: SimilarQuestion) -> "Similar":
        """The hit as the interface shows it; what the engine made needs no second check."""
        post = hit.post
        return cls.model_construct(
            id=post.id,
            title=post.title,
            excerpt=_excerpt(post.body),
            score=hit.score,
            duplicate_probability=hit.duplicate_probability,
            duplicate_of=hit.duplicate_of,
            answers=hit.answers,
            accepted=hit.accepted,
            votes=post.score,
            tags=post.tags,
            created=post.created,
            stages=hit.stages,
            words=hit.words,
        )


class Answer(Shape):
    """An answer already given; ``html`` is sanitised, and empty where the text is all there is."""

    id: str
    question_id: str
    question_title: str
    text: str
    html: str
    score: float
    votes: int | None
    accepted: bool
    created: str | None
    stages: Mapping[str, float]
    words: Sequence[str]

    @classmethod
    def of(cls, hit: RankedAnswer) -> "Answer":
        """The hit as the interface shows it."""
        post = hit.post
        return cls.model_construct(
            id=post.id,
            question_id=hit.question.id,
            question_title=hit.question.title,
            text=post.text,
            html=safe_html(post.html),
            score=hit.score,
            votes=post.score,
            accepted=post.accepted,
            created=post.created,
            stages=hit.stages,
            words=hit.words,
        )


class SimilarFound(Shape):
    """Similar questions, the best first."""

    model_config = closed(
        query="my back wheel loses air", ranker="best", took_ms=4.2, similar=[SIMILAR]
    )

    query: str
    ranker: str
    took_ms: float
    similar: list[Similar]


class AnswersFound(Shape):
    """Answers, the best first."""

    model_config = closed(
        query="my back wheel loses air", ranker="best", took_ms=8.1, answers=[ANSWER]
    )

    query: str
    ranker: str
    took_ms: float
    answers: list[Answer]


class AskFound(Shape):
    """Similar questions and answers."""

    model_config = closed(
        query="my back wheel loses air",
        ranker="best",
        took_ms=9.0,
        similar=[SIMILAR],
        answers=[ANSWER],
    )

    query: str
    ranker: str
    took_ms: float
    similar: list[Similar]
    answers: list[Answer]


class DuplicatesFound(Shape):
    """Whether a draft was asked before; ``duplicate`` is false while no model can tell."""

    model_config = closed(took_ms=4.0, duplicate=True, similar=[SIMILAR])

    took_ms: float
    duplicate: bool
    similar: list[Similar]


class StageShown(Shape):
    """One stage of a ranking: its score, how that compares with all candidates, its weight."""

    name: str
    score: float
    z: float
    weight: float


class WordsShown(Shape):
    """How much each word of one side counts for a model."""

    kind: str
    side: Literal["query", "candidate"]
    words: Sequence[str]
    weights: Sequence[float]


class WhyFound(Shape):
    """Why a post stands where it stands."""

    model_config = closed(
        id="q002",
        score=11.2,
        stages=[{"name": "bm25", "score": 11.2, "z": 2.1, "weight": 1.0}],
        words=[],
        shared=["tyre"],
    )

    id: str
    score: float
    stages: list[StageShown]
    words: list[WordsShown]
    shared: list[str]

    @classmethod
    def of(cls, post_id: str, why: Why) -> "WhyFound":
        """The explanation as the interface shows it."""
        return cls(
            id=post_id,
            score=why.score,
            stages=[StageShown(**asdict(stage)) for stage in why.stages],
            words=[
                WordsShown(
                    kind=part.kind,
                    side=part.side,
                    words=list(part.words),
                    weights=[float(weight) for weight in part.weights],
                )
                for part in why.words
            ],
            shared=list(why.shared),
        )


class FullPost(Shape):
    """A post with all that the archive knows of it; ``html`` is sanitised."""

    id: str
    kind: Literal["question", "answer"]
    title: str
    body: str
    html: str
    votes: int | None
    accepted: bool
    tags: Sequence[str]
    created: str | None
    parent: str | None

    @classmethod
    def of(cls, post: Post) -> "FullPost":
        """The post as the interface shows it."""
        return cls.model_construct(
            id=post.id,
            kind=post.kind,
            title=post.title,
            body=post.body,
            html=safe_html(post.html),
            votes=post.score,
            accepted=post.accepted,
            tags=post.tags,
            created=post.created,
            parent=post.parent,
        )


class PostNamed(Shape):
    """A question by its id and title."""

    id: str
    title: str


class Thread(Shape):
    """A post, its answers, and the questions that were marked as the same."""

    model_config = closed(
        post={
            "id": "q002",
            "kind": "question",
            "title": "Why do I keep getting punctures in my rear tyre?",
            "body": "Third flat in two weeks, always the rear.",
            "html": "",
            "votes": 48,
            "accepted": False,
            "tags": ["punctures", "tyres"],
            "created": "2021-02-01T16:43:25Z",
            "parent": None,
        },
        answers=[],
        duplicate_of=None,
        duplicates=[{"id": "q117", "title": "Rear tyre flat every week"}],
        revisions=0,
    )

    post: FullPost
    answers: list[FullPost]
    duplicate_of: str | None
    duplicates: list[PostNamed]
    revisions: int


class WrittenShown(Shape):
    """What a write did; it is on the disk, and the next query sees it."""

    model_config = closed(added=1, changed=0, unchanged=0, change=823, ids=["q901"])

    added: int
    changed: int
    unchanged: int
    change: int
    ids: list[str]

    @classmethod
    def of(cls, written: Written, ids: list[str]) -> "WrittenShown":
        """The result of a write with the ids that were written."""
        return cls(**written._asdict(), ids=ids)


class Deleted(Shape):
    """The ids of all that is gone now, the answers of deleted questions among them."""

    model_config = closed(deleted=["q901", "a902"])

    deleted: list[str]


class Rankers(Shape):
    """The ways of ranking that can be compared."""

    model_config = closed(rankers=["best", "bm25"])

    rankers: list[str]


STATUS: dict[str, JsonValue] = {
    "ready": True,
    "archive": "bicycles",
    "posts": 741,
    "change": 741,
    "indexed": 741,
    "model": None,
    "building": None,
    "read_only": False,
}


class StatusShown(Shape):
    """How far the server has come."""

    model_config = closed(**STATUS)

    ready: bool
    archive: str
    posts: int
    change: int
    indexed: int
    model: str | None
    building: str | None
    read_only: bool

    @classmethod
    def of(cls, status: Status) -> "StatusShown":
        """The status as the interface shows it."""
        return cls(**asdict(status))


class Health(Shape):
    """The process is alive."""

    model_config = closed(status="ok")

    status: Literal["ok"] = "ok"


class Overview(BaseModel):
    """What the archive holds, and where it repeats itself or could answer itself."""

    model_config = growing(
        counts={"questions": 300, "answers": 441, "duplicates": 60},
        growth=[{"month": "2021-02", "questions": 9, "answers": 14}],
        unanswered=[],
        duplicates_found=[],
    )

    counts: dict[str, int]
    growth: list[dict[str, Any]]
    unanswered: list[dict[str, Any]]
    duplicates_found: list[dict[str, Any]]


class Models(BaseModel):
    """The models in service with their figures, and the training that is going on."""

    model_config = growing(
        current=None, status=STATUS, tasks={"questions": None, "answers": None}, training=None
    )

    current: str | None
    status: StatusShown
    tasks: dict[str, Any]
    training: Any


def _excerpt(text: str) -> str:
    """The beginning of a text on one line, cut between words."""
    line = " ".join(text[: EXCERPT * 2].split())
    if len(line) <= EXCERPT:
        return line
    return line[:EXCERPT].rsplit(" ", 1)[0] + "…"
