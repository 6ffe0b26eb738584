"""What the server tells of itself, of its archive and of its models."""

from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, JsonValue

from askonce.engine import Status
from askonce.server.schemas import Shape
from askonce.server.schemas.examples import closed, growing

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
