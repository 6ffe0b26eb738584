"""The slow one of two readers replaces the keys of the fast one, a few posts at a time."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from askonce.archive import Archive
from askonce.errors import ConfigError
from askonce.index.base import KeyIndex
from askonce.index.readers import TwoReaders
from askonce.index.storage import changing
from askonce.types import Post

BATCH = 32  # posts read at a time: about a second of one core
SHARE = 0.5  # of the time of one core
IDLE_SECONDS = 1.0  # before looking for new posts again


@dataclass(frozen=True)
class ReadingSettings:
    """How much a server reads in the background."""

    share: float = SHARE  # of the time of one core; 0 turns it off

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ConfigError(f"reading share = {self.share}; expected 0 (off) to 1 (all the time)")


def read_some(
    archive: Archive, index: KeyIndex, changes: threading.RLock, count: int = BATCH
) -> int:
    """Let the slow reader read the next posts of an index; how many got its keys.

    A post that changes meanwhile keeps the key of its new text and is read later.
    """
    if not isinstance(index.coder, TwoReaders):
        return 0
    ids = index.unread(count)
    posts = list(archive.posts(ids, html=False).values()) if ids else []
    if not posts:
        return 0
    keys = index.coder.slow.candidate_keys(posts)  # (n, K); outside the lock, since it is slow
    with changes, changing([index], archive.turn):
        return _replace(archive, index, posts, keys)


def _replace(archive: Archive, index: KeyIndex, posts: Sequence[Post], keys: np.ndarray) -> int:
    now = archive.posts([post.id for post in posts], html=False)
    unchanged = [row for row, post in enumerate(posts) if _text(now.get(post.id)) == post.text]
    if unchanged:
        index.add_keys([posts[row].id for row in unchanged], keys[unchanged])
    return len(unchanged)


def _text(post: Post | None) -> str | None:
    return post.text if post is not None else None


@dataclass
class BackgroundReading:
    """A thread that reads while there is something to read, for a share of its time."""

    step: Callable[[], int]  # reads a few posts; how many
    settings: ReadingSettings
    clock: Callable[[], float] = time.monotonic
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        if self.settings.share > 0:
            self._thread = threading.Thread(target=self._run, name="reading", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            begin = self.clock()
            read = self.step()
            self._stop.wait(self.pause(self.clock() - begin) if read else IDLE_SECONDS)

    def pause(self, seconds: float) -> float:
        """How long to rest after reading for so many seconds."""
        return seconds * (1 / self.settings.share - 1)
