"""The contract of indexes: add posts, remove them, search them, and record how far they follow."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from askonce.errors import AskonceError
from askonce.types import Post

T = TypeVar("T")
IndexState = Mapping[str, float]  # what a process that follows an index must load


class IndexDamaged(AskonceError):
    """The files of an index are incomplete, of another format, or made by another model."""


class IndexUnavailable(AskonceError):
    """The database of an index does not answer now; try again later."""


class Hit(NamedTuple):
    id: str
    score: float


class Index(Protocol):
    """Posts that many threads can search while one thread changes them.

    ``position`` is the archive's change number up to which the index holds everything; the caller
    that adds posts sets it. It reaches the disk with ``save`` only: after a crash an index is
    behind and catches up, as adding or removing a post twice has no further effect.
    """

    position: int

    @property
    def lock_name(self) -> str | None:
        """The lock that servers sharing the index take turns by; None if one process owns it."""

    @property
    def cheap_to_save(self) -> bool:
        """Whether ``save`` is quick enough to follow every change."""

    def __len__(self) -> int: ...

    def add(self, posts: Iterable[Post]) -> None:
        """Make posts findable at once; a post with a known id replaces the old one."""

    def remove(self, ids: Iterable[str]) -> None:
        """Remove posts; unknown ids are no error."""

    def save(self) -> None:
        """Write everything added so far, and the position, to disk: all of it or nothing."""

    def reload(self) -> None:
        """See what another process has added and saved."""

    def publish(self) -> IndexState:
        """Let other processes read all changes, also those that are not saved; what to follow."""

    def follow(self, state: IndexState) -> None:
        """See what another process has published; cheap if that is little or nothing."""

    def close(self) -> None:
        """Let another process write. Unsaved changes may be lost."""


class KeyEncoder(ABC):
    """Turns texts into keys whose inner product orders candidates for a query."""

    name: str  # the model and its weights; an index made by another encoder is rebuilt
    ranker: Any = None  # the Ranker that explains scores; None for an encoder that cannot
    slow: "KeyEncoder | None" = None  # the slow one of two readers; None for a single reader

    @abstractmethod
    def query_keys(self, texts: Sequence[str]) -> np.ndarray:
        """One float32 key per query (n, K)."""

    @abstractmethod
    def candidate_keys(self, posts: Sequence[Post]) -> np.ndarray:
        """One float32 key per post (n, K)."""

    def typed_query_keys(self, texts: Sequence[str]) -> np.ndarray:
        """Keys (n, K) of questions that are being typed."""
        return self.query_keys(texts)

    def quick_query_keys(self, texts: Sequence[str]) -> np.ndarray:
        """Keys (n, K) of many texts, such as all questions of an archive: none is read anew."""
        return self.query_keys(texts)

    def warm(self) -> None:
        """Load and run what the first query would wait for."""
        self.query_keys(["a word"])

    def postpone(self) -> bool:
        """Do without what ``warm`` loads until it has loaded it; False if that is not possible."""
        return False

    def first_keys(self, posts: Sequence[Post]) -> tuple[np.ndarray, np.ndarray]:
        """Keys (n, K) of new posts, and which of them are final (n,)."""
        return self.candidate_keys(posts), np.ones(len(posts), dtype=bool)


class Terms(Protocol):
    """Turns a text into the stemmed words that it is found by."""

    def __call__(self, text: str) -> list[str]: ...

    @property
    def pairs(self) -> Callable[[str], Sequence[tuple[str, str]]]:
        """Each distinct word of a text with its stem, in order of appearance."""


class WordIndex(Index, Protocol):
    @property
    def terms(self) -> Terms: ...

    def search(self, text: str, k: int = 10) -> list[Hit]:
        """The k best posts, best first; equal scores are ordered by id."""

    def score(self, text: str, ids: Sequence[str]) -> np.ndarray:
        """The score of each of these posts, equal to the score that ``search`` gives it.

        Always finite: an unknown post scores no better than the worst of the others.
        """


class KeyIndex(Index, Protocol):
    coder: KeyEncoder

    def add_keys(
        self, ids: Sequence[str], keys: np.ndarray, read: np.ndarray | None = None
    ) -> None:
        """Make posts findable by keys (n, K) that the encoder made; ids must be distinct.

        Of an encoder with two readers, ``read`` (n,) says which keys are the slow one's; None: all.
        """

    def unread(self, count: int | None = None) -> list[str]:
        """The first ids whose keys a slow reader has yet to replace."""

    def unread_count(self) -> int:
        """How many there are."""

    def read_share(self) -> float:
        """The share of posts whose keys are final; for every search, so it may be seconds old."""

    def search_key(self, key: np.ndarray, k: int = 10) -> list[Hit]:
        """The k posts that match a query's key best; equal scores are ordered by id."""

    def search_keys(self, keys: np.ndarray, k: int = 10) -> list[list[Hit]]:
        """The k best posts for each of many keys (Q, K): faster than one by one."""

    def score_key(self, key: np.ndarray, ids: Sequence[str]) -> np.ndarray:
        """The inner product of each of these posts with a query's key, as ``search_key`` gives it.

        Always finite: an unknown post scores no better than the worst of the others.
        """


def best_first(hits: Iterable[Hit]) -> list[Hit]:
    """Hits by falling score; equal scores are ordered by id."""
    by_id = sorted(hits, key=itemgetter(0))
    return sorted(by_id, key=itemgetter(1), reverse=True)  # stable


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    stream = iter(items)
    while batch := list(islice(stream, size)):
        yield batch


def finite_keys(coder: KeyEncoder, ids: Sequence[str], keys: np.ndarray) -> np.ndarray:
    """The keys (n, K) as float32; an error that names the first post whose key is not finite."""
    keys = np.asarray(keys, dtype=np.float32)
    wrong = ~np.isfinite(keys).all(axis=1)  # (n,)
    if wrong.any():
        first = ids[int(wrong.argmax())]
        raise AskonceError(f"{coder.name!r} gave post {first!r} a key that is not finite")
    return keys
