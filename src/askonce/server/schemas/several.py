"""Responses of a server with several archives."""

from typing import Literal

from askonce.engine import RankedAnswer, SimilarQuestion, Status
from askonce.engine.results import ANSWER, SIMILAR, STATUS, JsonObject, shown_as
from askonce.server.schemas import Shape, closed

_QUESTION: JsonObject = {**SIMILAR, "archive": "bikes"}
_ANSWER: JsonObject = {**ANSWER, "archive": "bikes"}


class FoundQuestion(SimilarQuestion):
    """A similar question, and the archive that it is in."""

    model_config = shown_as(_QUESTION)

    archive: str


class FoundAnswer(RankedAnswer):
    """An answer, and the archive that it is in."""

    model_config = shown_as(_ANSWER)

    archive: str


class SearchResponse(Shape):
    """The best hits of several archives; ``joined_by`` says how similar questions were compared."""

    model_config = closed(
        query="my back wheel loses air",
        took_ms=12.0,
        joined_by="probability",
        searched=["bikes"],
        failed={"cooking": "the server is overloaded; try again"},
        similar=[_QUESTION],
        answers=[_ANSWER],
    )

    query: str
    took_ms: float
    joined_by: Literal["probability", "rank"]
    searched: list[str]
    failed: dict[str, str]  # archives that could not be searched now, with the reason
    similar: list[FoundQuestion]
    answers: list[FoundAnswer]


class Readiness(Shape):
    """The state of each archive; ready once none is being opened and at least one serves."""

    model_config = closed(ready=True, archives={"bikes": STATUS}, failed=["cooking"])

    ready: bool
    archives: dict[str, Status]
    failed: list[str]  # archives that cannot be served
