"""What every index does: add posts, remove them, search them, and say how far it has come."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from askonce.errors import AskonceError
from askonce.types import Post


class IndexDamaged(AskonceError):
    """The files of an index are not whole, of another format, or made by another model."""


class IndexUnavailable(AskonceError):
    """The database of an index does not answer now; try again later."""


class Hit(NamedTuple):
    """A post that a search found."""

    id: str
    score: float


class Index(Protocol):
    """Posts that can be searched by many threads while one changes them.

    ``position`` is the archive's change number up to which the index holds everything; who adds
    posts sets it. It is on the disk only after ``save``. An index that stopped before is behind and
    catches up: adding a post again, or removing it again, changes nothing.
    """

    position: int

    def __len__(self) -> int: ...

    def add(self, posts: Iterable[Post]) -> None:
        """Make posts findable at once; a post with a known id takes the place of the old one."""

    def remove(self, ids: Iterable[str]) -> None:
        """Forget posts; unknown ids are no error."""

    def search(self, text: str, k: int = 10) -> list[Hit]:
        """The k posts that match best, best first; equal scores come in the order of ids."""

    def score(self, text: str, ids: Sequence[str]) -> np.ndarray:
        """The score of each of these posts, whether a search would find it or not.

        It is what ``search`` says of the same post. Always finite: an unknown post counts as one
        that matches no better than the worst of the others.
        """

    def save(self) -> None:
        """Put everything added so far, and the position, on the disk: all of it or nothing."""

    def reload(self) -> None:
        """See what another process has added and saved."""

    def close(self) -> None:
        """Let another process write. What was not saved may be lost."""


class KeyEncoder(Protocol):
    """Turns texts into keys whose inner product orders candidates for a query."""

    @property
    def name(self) -> str:
        """Which model, with which weights; an index made by another coder is made anew."""

    def query_keys(self, texts: Sequence[str]) -> np.ndarray:
        """One float32 key per query (n, K)."""

    def candidate_keys(self, posts: Sequence[Post]) -> np.ndarray:
        """One float32 key per post (n, K)."""


class WordIndex(Index, Protocol):
    """An index by the words of posts."""

    @property
    def terms(self) -> Callable[[str], list[str]]:
        """Gives the stemmed words by which a text is found."""


class KeyIndex(Index, Protocol):
    """An index by the keys of posts."""

    coder: KeyEncoder

    def add_keys(self, ids: Sequence[str], keys: np.ndarray) -> None:
        """Make posts findable by keys (n, K) that the coder gave them; each id stands once."""

    def search_key(self, key: np.ndarray, k: int = 10) -> list[Hit]:
        """The k posts that match a query's key best."""

    def score_key(self, key: np.ndarray, ids: Sequence[str]) -> np.ndarray:
        """The inner product of each of these posts with a query's key."""
