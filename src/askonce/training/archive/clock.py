"""Time that several trainings share."""

import time
from dataclasses import dataclass

from askonce.training.epochs import Stop


@dataclass
class Clock:
    """Seconds for all trainings, shared by the questions that each is to learn from."""

    seconds: float
    questions: int = 0  # of the trainings still to come

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """Seconds that are left; 0 once all are spent."""
        return max(0.0, self._end - time.monotonic())

    def add(self, seconds: float) -> None:
        """Give back time that was spent on something else than training."""
        self._end += seconds

    def next(self, questions: int) -> Stop:
        """Says of the next training when its part is over; what others left is shared again."""
        part = questions / max(questions, self.questions)
        until = time.monotonic() + self.left * part
        self.questions -= questions
        return lambda: time.monotonic() >= until
