"""What asking returns: questions, answers, and why they were found."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Literal

from pydantic import JsonValue

from askonce.engine import RankedAnswer, SimilarQuestion, Why
from askonce.server.guard.sanitise import safe_html
from askonce.server.schemas import Shape
from askonce.server.schemas.examples import closed

EXCERPT = 240  # characters


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


class Rankers(Shape):
    """The ways of ranking that can be compared."""

    model_config = closed(rankers=["best", "bm25"])

    rankers: list[str]


def _excerpt(text: str) -> str:
    """The beginning of a text on one line, cut between words."""
    line = " ".join(text[: EXCERPT * 2].split())
    if len(line) <= EXCERPT:
        return line
    return line[:EXCERPT].rsplit(" ", 1)[0] + "…"
