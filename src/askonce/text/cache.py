"""Keep what was computed from texts that come again, such as the words of popular posts."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class TextCache(Generic[T]):
    """A function of texts that remembers its results. Threads may share it.

    It forgets everything when the texts in it have more than ``max_characters``; a longer text than
    ``longest`` is computed each time.
    """

    def __init__(
        self, compute: Callable[[str], T], max_characters: int, longest: int = 20_000
    ) -> None:
        self._compute, self._max_characters, self._longest = compute, max_characters, longest
        self._results: dict[str, T] = {}
        self._characters = 0

    def __call__(self, text: str) -> T:
        result = self._results.get(text)
        if result is None:
            result = self._compute(text)
            if len(text) <= self._longest:
                self._add(text, result)
        return result

    def __len__(self) -> int:
        return len(self._results)

    def _add(self, text: str, result: T) -> None:
        if self._characters + len(text) > self._max_characters:
            self._results, self._characters = {}, 0
        self._results[text] = result
        self._characters += len(text)
