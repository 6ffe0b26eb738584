"""What a training reports while it runs.

A training calls ``on_event`` with one of these; a progress bar, a log or a test reads their fields.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Phase:
    """A part of the work begins, such as "training rcnn"."""

    text: str
    task: str = ""  # of an archive: "questions" or "answers"


@dataclass(frozen=True)
class Note:
    """Something that the user should know and that ends nothing."""

    text: str


@dataclass(frozen=True)
class Reading:
    """A teacher reads texts that its cache lacks."""

    done: int
    total: int


@dataclass(frozen=True)
class Step:
    """The optimiser made a step."""

    epoch: int
    done: int  # examples of this epoch so far
    total: int
    loss: float  # mean over the examples so far


@dataclass(frozen=True)
class Epoch:
    """An epoch was measured. Epoch 0 is the model before training and has no loss."""

    epoch: int
    best: bool  # better than all epochs before
    loss: float | None = None
    dev: Mapping[str, float] = field(default_factory=dict)  # metrics on dev
    figures: Mapping[str, float] = field(default_factory=dict)  # others, such as a perplexity

    @classmethod
    def of(cls, record: Mapping[str, Any], best: bool) -> "Epoch":
        """The event of a record of the history."""
        figures = {
            key: value
            for key, value in record.items()
            if isinstance(value, float) and key != "loss"
        }
        return cls(record["epoch"], best, record.get("loss"), record.get("dev", {}), figures)


Event = Phase | Note | Reading | Step | Epoch
OnEvent = Callable[[Event], None]


def ignore(event: Event) -> None:
    """For trainings without a listener."""
