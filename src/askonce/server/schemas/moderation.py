"""Links between questions and decisions of moderators."""

from pydantic import BaseModel

from askonce.archive.desk.decisions import DecisionKind
from askonce.engine.moderation import AskedAgain, ProposedAnswer, ProposedDuplicate
from askonce.engine.results import JsonObject
from askonce.server.schemas import Shape, closed
from askonce.server.schemas.requests import PostId

_POST: JsonObject = {
    "id": "q117",
    "title": "Rear tyre flat every week",
    "text": "Always the rear.",
    "votes": 3,
    "answers": 0,
    "created": "2021-03-01",
}


class LinkResponse(Shape):
    """Whether the link is new, or was there to remove, and the archive's change number."""

    model_config = closed(changed=True, change=824)

    changed: bool
    change: int


class DecisionBody(BaseModel):
    """What to do with a question and another post."""

    model_config = closed(kind="duplicate", source="q117", target="q002")

    kind: DecisionKind
    source: PostId
    target: PostId


class DecisionRecord(Shape):
    """A decision, with the number that undoes it."""

    model_config = closed(
        number=7,
        kind="merge",
        source="q117",
        source_title="Rear tyre flat every week",
        target="q002",
        target_title="Why do I keep getting punctures in my rear tyre?",
        moved=["a301"],
        made="2026-01-01",
    )

    number: int
    kind: DecisionKind
    source: str
    source_title: str  # of an answer, that of its question; empty if it was deleted
    target: str
    target_title: str
    moved: list[str]  # answers that a merge moved to the target
    made: str


class Desk(Shape):
    """What waits for a moderator, and what was decided last."""

    model_config = closed(
        duplicates=[
            {
                "question": _POST,
                "original": {**_POST, "id": "q002"},
                "probability": 0.9,
                "calibrated": True,
            }
        ],
        answers=[],
        asked_again=[],
        decisions=[],
    )

    duplicates: list[ProposedDuplicate]
    answers: list[ProposedAnswer]
    asked_again: list[AskedAgain]
    decisions: list[DecisionRecord]
