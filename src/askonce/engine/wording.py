"""What operators teach a search: synonyms of words, and posts pinned to questions."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from askonce.archive import Archive
from askonce.errors import AskonceError
from askonce.index.stems import Stems

SYNONYMS, PINNED = "synonyms", "pinned"  # names of the archive's options
MOST = 1000  # groups of synonyms, and pinned questions
STALE_SECONDS = 5.0  # after which another server's change is seen


_stems = Stems()


@dataclass(frozen=True)
class Wording:
    """Synonyms and pinned posts, by the stems of words, so that "tyres" is "tyre"."""

    synonyms: Mapping[tuple[str, ...], frozenset[str]] = field(default_factory=dict)
    pinned: Mapping[frozenset[str], tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, groups: Sequence[Sequence[str]], pinned: Sequence[Mapping[str, Any]]) -> "Wording":
        synonyms: defaultdict[tuple[str, ...], frozenset[str]] = defaultdict(frozenset)
        for group in groups:
            for name in group:
                synonyms[tuple(_stems(name))] |= frozenset(group) - {name}
        synonyms.pop((), None)
        pins: defaultdict[frozenset[str], tuple[str, ...]] = defaultdict(tuple)
        for one in pinned:
            pins[frozenset(_stems(one["question"]))] += tuple(one["posts"])
        return cls(dict(synonyms), dict(pins))

    def added_words(self, question: str) -> str:
        """The synonyms of the words and phrases of a question, for the word index."""
        if not self.synonyms:
            return ""
        stems = _stems(question)
        longest = max(len(name) for name in self.synonyms)
        phrases = {
            tuple(stems[start:end])
            for start in range(len(stems))
            for end in range(start + 1, min(start + longest, len(stems)) + 1)
        }
        added = {other for phrase in phrases for other in self.synonyms.get(phrase, ())}
        return " ".join(sorted(name for name in added if tuple(_stems(name)) not in phrases))

    def pinned_to(self, question: str) -> tuple[str, ...]:
        """The posts to show first: those whose pinned question has no word that this one lacks.

        The pinned question with most words comes first.
        """
        if not self.pinned:
            return ()
        stems = frozenset(_stems(question))
        pins = sorted((pin for pin in self.pinned if pin <= stems), key=len, reverse=True)
        return tuple(dict.fromkeys(name for pin in pins for name in self.pinned[pin]))


class CurrentWording:
    """The archive's wording, read again after a while."""

    def __init__(self, archive: Archive, clock: Callable[[], float] = time.monotonic) -> None:
        self._archive, self._clock = archive, clock
        self._wording, self._until = Wording(), 0.0
        self.edits = 0  # by this process

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
            if not _stems(one["question"]):
                raise AskonceError(f"the pinned question {one['question']!r} has no word")
        groups = [[word.strip().lower() for word in group if word.strip()] for group in synonyms]
        self._archive.options.set(SYNONYMS, [group for group in groups if len(group) > 1])
        self._archive.options.set(PINNED, [dict(one) for one in pinned])
        self.edits += 1
        self.refresh()

    def refresh(self) -> None:
        """Read it again for the next question."""
        self._until = 0.0
