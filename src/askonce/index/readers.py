"""One index, two readers: a fast encoder and a slow, better one whose keys are in the same space.

A post is found by the fast reader's key at once; the slow reader's key replaces it when there is
time. Queries may be read by either.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from askonce.index.base import KeyEncoder
from askonce.types import Post

SHORT_WORDS = 64  # of queries that the slow reader takes; longer ones would keep people waiting
THEN = " then "  # between the names of two readers
Known = Callable[[Sequence[str]], Sequence[bool]]  # which texts the slow reader has read before


class TwoReaders(KeyEncoder):
    """A KeyEncoder of two: ``fast`` for typing and new posts, ``slow`` for what it has read.

    ``load`` loads the weights of the slow one. After ``postpone`` and until ``warm`` has loaded
    them, it reads only what it has read before.
    """

    def __init__(
        self,
        fast: KeyEncoder,
        slow: KeyEncoder,
        known: Known,
        load: Callable[[], object] = lambda: None,
    ) -> None:
        self.fast, self._known, self._load = fast, known, load
        self._postponed = False
        self.slow: KeyEncoder = slow
        self.name = f"{fast.name}{THEN}{slow.name}"
        self.ranker = fast.ranker  # it weighs words

    def query_keys(self, texts: Sequence[str]) -> np.ndarray:
        """By the slow reader where that is quick: short texts, and those that it has read."""
        if self._postponed:
            return self.quick_query_keys(texts)
        known = self._known(texts)
        slow = [
            old or len(text.split()) <= SHORT_WORDS for old, text in zip(known, texts, strict=True)
        ]
        return _merged(np.array(slow, bool), texts, self.slow.query_keys, self.fast.query_keys)

    def typed_query_keys(self, texts: Sequence[str]) -> np.ndarray:
        return self.fast.query_keys(texts)

    def quick_query_keys(self, texts: Sequence[str]) -> np.ndarray:
        """By the slow reader where it has read the text before, else by the fast one."""
        known = np.array(self._known(texts), dtype=bool)
        return _merged(known, texts, self.slow.query_keys, self.fast.query_keys)

    def postpone(self) -> bool:
        self._postponed = True
        return True

    def warm(self) -> None:
        try:
            self.fast.warm()
            self._load()
        finally:
            self._postponed = False

    def candidate_keys(self, posts: Sequence[Post]) -> np.ndarray:
        return self.first_keys(posts)[0]

    def first_keys(self, posts: Sequence[Post]) -> tuple[np.ndarray, np.ndarray]:
        read = np.array(self._known([post.text for post in posts]), dtype=bool)
        keys = _merged(read, posts, self.slow.candidate_keys, self.fast.candidate_keys)
        return keys, read


def _merged(
    slow: np.ndarray,
    items: Sequence[Any],
    by_slow: Callable[[Sequence[Any]], np.ndarray],
    by_fast: Callable[[Sequence[Any]], np.ndarray],
) -> np.ndarray:
    """Keys (n, K) by one reader where ``slow`` (n,) says so, by the other elsewhere."""
    rows: tuple[list[int], list[int]] = ([], [])
    for row, own in enumerate(slow.tolist()):
        rows[0 if own else 1].append(row)
    keys = [
        read([items[row] for row in own])
        for read, own in zip((by_slow, by_fast), rows, strict=True)
        if own or not items
    ]
    return np.concatenate(keys)[np.argsort(rows[0] + rows[1])]
