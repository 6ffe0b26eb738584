"""Which questions the newest ones repeat, searched again only where the archive has changed."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from askonce.engine.duplicates import (
    FoundDuplicate,
    age,
    best_original,
    open_pairs,
    similar_pairs,
)
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.engine.engine import Engine

CHECKED = 200  # newest questions that are checked for duplicates
LEAST = 0.2  # confidence of the pairs that are remembered
REMEMBERED = 1000  # questions
MANY = 1000  # changes after which all are searched again


@dataclass(frozen=True)
class LikelyAnswer:
    """An unanswered question, and an answer to another one that is probably the same."""

    pair: FoundDuplicate
    answer: Post


@dataclass
class CheckedQuestions:
    """The questions that were searched, with those that are probably the same.

    Links, decisions and answers are read whenever they are needed, so they need no new search.
    """

    engine: "Engine"
    _pairs: dict[str, tuple[Post, list[FoundDuplicate]]] = field(default_factory=dict)
    _seen: tuple[str | None, int] = (None, 0)  # model and change number
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def duplicates(self, limit: int, least: float) -> list[FoundDuplicate]:
        """Likely duplicates among the newest questions, neither linked nor dismissed."""
        newest = self.engine.archive.newest(CHECKED)
        similar = [pair for pairs in self._similar(newest) for pair in pairs]
        by_question: dict[str, list[FoundDuplicate]] = {}
        for pair in open_pairs(self.engine.archive, similar):
            by_question.setdefault(pair.question.id, []).append(pair)
        best = (best_original(pairs, least) for pairs in by_question.values())
        likely = [pair for pair in best if pair is not None]
        return sorted(likely, key=lambda pair: -pair.confidence)[:limit]

    def answers(self, questions: Sequence[Post], least: float) -> list[LikelyAnswer | None]:
        """For each question the best answer to the most likely of those with one."""
        archive = self.engine.archive
        refused = archive.decisions.dismissed_with([post.id for post in questions])
        lists = self._similar(questions)
        others = {pair.other.id for pairs in lists for pair in pairs}
        answers = archive.answers_to(sorted(others), html=False)
        likely = []
        for post, pairs in zip(questions, lists, strict=True):
            candidates = (
                LikelyAnswer(pair, answer)
                for pair in sorted(pairs, key=lambda pair: -pair.confidence)
                for answer in answers.get(pair.other.id, ())
                if pair.confidence >= least
                and answer.id not in refused.get(post.id, set())
                and (answer.accepted or (answer.score or 0) >= 0)
            )
            likely.append(next(candidates, None))
        return likely

    def _similar(self, questions: Sequence[Post]) -> list[list[FoundDuplicate]]:
        """For each question, those that are probably the same."""
        with self._lock:
            self._forget()
            missing = [post for post in questions if post.id not in self._pairs]
            for post, pairs in zip(
                missing, similar_pairs(self.engine, missing, LEAST), strict=True
            ):
                self._pairs[post.id] = post, pairs
            lists = [self._pairs[post.id][1] for post in questions]
            for name in list(self._pairs)[: len(self._pairs) - REMEMBERED]:
                del self._pairs[name]
            return lists

    def _forget(self) -> None:
        """Forget what may have changed since the last call."""
        status = self.engine.status()
        model, change = self._seen
        self._seen = status.model, min(status.indexed, status.change)
        if self._seen == (model, change) or not self._pairs:
            return
        changes = self.engine.archive.changes(change, MANY) if model == status.model else []
        if model != status.model or len(changes) == MANY:
            self._pairs.clear()
        changed = {one.id: one.post for one in changes if one.kind == "question"}
        # a question that is not newer than another may be its original
        oldest = min((age(post) for post in changed.values() if post), default=None)
        for name, (post, pairs) in list(self._pairs.items()):
            repeats = oldest is not None and age(post) >= oldest
            if name in changed or repeats or any(pair.other.id in changed for pair in pairs):
                del self._pairs[name]
