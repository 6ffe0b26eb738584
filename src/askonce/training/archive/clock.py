"""Time that several training runs share."""

import time
from dataclasses import dataclass

from askonce.training.epochs import Stop


@dataclass
class Clock:
    """Seconds for all training runs, shared in proportion to the questions of each."""

    seconds: float
    questions: int = 0  # of the runs still to come

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    def next(self, questions: int) -> Stop:
        """When the next run must stop; time that earlier runs left is shared again."""
        share = questions / max(questions, self.questions)
        until = time.monotonic() + self.left * share
        self.questions -= questions
        return lambda: time.monotonic() >= until
