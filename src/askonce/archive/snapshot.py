"""A whole archive in memory, as it was at one moment, for training."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from askonce.archive.desk.feedback import WeightedLabel
from askonce.types import Link, Post


@dataclass(frozen=True)
class Snapshot:
    name: str
    questions: Mapping[str, Post]
    answers: Mapping[str, Post]
    links: tuple[Link, ...] = ()
    weighted_labels: tuple[WeightedLabel, ...] = ()  # labels from the feedback of visitors
    _answers_of: dict[str, list[Post]] = field(default_factory=dict, repr=False)
    _duplicate_of: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for answer in self.answers.values():
            self._answers_of.setdefault(answer.parent or "", []).append(answer)
        for link in self.links:
            if link.kind == "duplicate":
                self._duplicate_of.setdefault(link.source, link.target)

    def answers_to(self, question_id: str) -> list[Post]:
        """The answers given to a question: the accepted one first, then by votes."""
        answers = self._answers_of.get(question_id, [])
        return sorted(answers, key=lambda a: (not a.accepted, -(a.score or 0), a.id))

    def duplicate_of(self, question_id: str) -> str | None:
        return self._duplicate_of.get(question_id)
