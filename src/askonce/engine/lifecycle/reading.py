"""The slow one of two readers replaces the keys of the fast one, a few posts at a time."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from askonce.archive import Archive
from askonce.index.base import KeyIndex
from askonce.index.storage import changing
from askonce.types import Post

BATCH = 32  # posts read at a time: about a second of one core
IDLE_SECONDS = 1.0  # before looking for new posts again


def read_some(archive: Archive, index: KeyIndex, changes: threading.RLock) -> int:
    """Let the slow reader read the next posts of an index; how many got its keys.

    A post that changes meanwhile keeps the key of its new text and is read later.
    """
    slow = index.coder.slow
    ids = index.unread(BATCH) if slow is not None else []
    posts = list(archive.posts(ids, html=False).values()) if ids else []
    if slow is None or not posts:
        return 0
    keys = slow.candidate_keys(posts)  # (n, K); outside the lock, since it is slow
    with changes, changing([index], archive.turn):
        return _replace(archive, index, posts, keys)


def _replace(archive: Archive, index: KeyIndex, posts: Sequence[Post], keys: np.ndarray) -> int:
    now = archive.posts([post.id for post in posts], html=False)
    texts = {name: post.text for name, post in now.items()}
    unchanged = [row for row, post in enumerate(posts) if texts.get(post.id) == post.text]
    if unchanged:
        index.add_keys([posts[row].id for row in unchanged], keys[unchanged])
    return len(unchanged)


@dataclass
class BackgroundReading:
    """A thread that reads while there is something to read, for a share of its time."""

    step: Callable[[], int]  # reads a few posts; how many
    share: float  # of the time of one core; 0 turns it off
    name: str = "reading"  # of the thread
    clock: Callable[[], float] = time.monotonic
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, unless it runs."""
        if self.share > 0 and self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
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
        return seconds * (1 / self.share - 1)
