"""What operators teach a search: synonyms of words, and posts pinned to questions."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from askonce.archive import Archive
from askonce.errors import AskonceError
from askonce.text.tokenise import tokenise

SYNONYMS, PINNED = "synonyms", "pinned"  # names of the archive's options
MOST = 1000  # groups of synonyms, and pinned questions
STALE_SECONDS = 5.0  # after which another server's change is seen


@dataclass(frozen=True)
class Wording:
    """Synonyms by word, and pinned posts by the words of a question."""

    synonyms: Mapping[str, frozenset[str]] = field(default_factory=dict)
    pinned: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, groups: Sequence[Sequence[str]], pinned: Sequence[Mapping[str, Any]]) -> "Wording":
        synonyms: dict[str, frozenset[str]] = {}
        for group in groups:
            for word in group:
                others = frozenset(group) - {word}
                synonyms[word.lower()] = synonyms.get(word.lower(), frozenset()) | others
        pins = {tuple(tokenise(one["question"])): tuple(one["posts"]) for one in pinned}
        return cls(synonyms, pins)

    def added_words(self, question: str) -> str:
        """The synonyms of the words of a question, for the word index."""
        if not self.synonyms:
            return ""
        words = tokenise(question)
        added = {other for word in words for other in self.synonyms.get(word, ())}
        return " ".join(sorted(added.difference(words)))

    def pinned_to(self, question: str) -> tuple[str, ...]:
        """The posts to show first; all words of the pinned question must be in the asked one."""
        if not self.pinned:
            return ()
        words = set(tokenise(question))
        return next((posts for pin, posts in self.pinned.items() if words.issuperset(pin)), ())


class CurrentWording:
    """The archive's wording, read again after a while."""

    def __init__(self, archive: Archive, clock: Callable[[], float] = time.monotonic) -> None:
        self._archive, self._clock = archive, clock
        self._wording, self._until = Wording(), 0.0

    def get(self) -> Wording:
        if self._clock() >= self._until:
            options = self._archive.options
            self._wording = Wording.of(options.get(SYNONYMS, []), options.get(PINNED, []))
            self._until = self._clock() + STALE_SECONDS
        return self._wording

    def set(self, synonyms: Sequence[Sequence[str]], pinned: Sequence[Mapping[str, Any]]) -> None:
        """Replace synonyms and pinned posts; posts must exist and be questions."""
        if max(len(synonyms), len(pinned)) > MOST:
            raise AskonceError(f"at most {MOST} groups of synonyms and {MOST} pinned questions")
        names = {name for one in pinned for name in one["posts"]}
        kinds = self._archive.kinds(names)
        for name in sorted(names):
            if kinds.get(name) != "question":
                raise AskonceError(f"no question {name!r} to pin")
        for one in pinned:
            if not tokenise(one["question"]):
                raise AskonceError(f"the pinned question {one['question']!r} has no word")
        groups = [[word.strip().lower() for word in group if word.strip()] for group in synonyms]
        self._archive.options.set(SYNONYMS, [group for group in groups if len(group) > 1])
        self._archive.options.set(PINNED, [dict(one) for one in pinned])
        self._until = 0.0
