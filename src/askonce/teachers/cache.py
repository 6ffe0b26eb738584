"""Vectors by the content of their text, in a SQLite file that any number of processes share.

The key of a vector is a hash of its text, so nothing is encoded twice, whoever asks: training,
serving, ``duplicates`` or a bench. Vectors are kept in half precision.
"""

import hashlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from askonce.errors import AskonceError

T = TypeVar("T")
OnProgress = Callable[[int, int], None]  # texts read so far, texts in all
SAVED = 512  # texts between two writes
CHUNK = 500  # keys of one SELECT: older SQLite takes at most 999 variables
BUSY_SECONDS = 60  # a writer waits for another writer this long


def cache_folder() -> Path:
    """``$ASKONCE_CACHE``, else the user's cache folder."""
    named = os.environ.get("ASKONCE_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "askonce"


def text_key(text: str) -> bytes:
    """The key of a text: 16 bytes of its hash."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class VectorCache:
    """The vectors of one teacher: ``vectors-TEACHER.sqlite`` in the cache folder."""

    prefix = "vectors"

    def __init__(self, teacher: str, dim: int, folder: Path | None = None) -> None:
        self.dim = dim
        name = re.sub(r"[^\w.-]", "_", teacher)
        self.path = (folder or cache_folder()) / f"{self.prefix}-{name}.sqlite"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # threads share the connection: SQLite serialises them, and every call is short
            self._database = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA journal_mode = WAL")  # readers do not wait for writers
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) "
                "WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            raise AskonceError(
                f"cannot open the vector cache {str(self.path)!r}: {error}; remove the file, or "
                "set ASKONCE_CACHE to a folder that you can write to"
            ) from None

    def __len__(self) -> int:
        return int(self._database.execute("SELECT COUNT(*) FROM vectors").fetchone()[0])

    def get(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """What is there, each float16 (D,); keys without a vector are left out."""
        vectors: dict[bytes, np.ndarray] = {}
        for start in range(0, len(keys), CHUNK):
            chunk = keys[start : start + CHUNK]
            marks = ",".join("?" * len(chunk))
            rows = self._database.execute(
                f"SELECT key, vector FROM vectors WHERE key IN ({marks})", chunk
            )
            for key, blob in rows:
                if self._whole(blob):  # anything else is damaged: encode it again
                    vectors[key] = self._array(np.frombuffer(blob, dtype=np.float16))
        return vectors

    def _whole(self, blob: bytes) -> bool:
        return len(blob) == 2 * self.dim

    def _array(self, numbers: np.ndarray) -> np.ndarray:
        return numbers

    def put(self, keys: Iterable[bytes], vectors: Iterable[np.ndarray]) -> None:
        """Keep a vector (D,) for each key; they are on the disk when this returns."""
        half = (np.ascontiguousarray(vector, dtype=np.float16) for vector in vectors)
        rows = [(key, vector.tobytes()) for key, vector in zip(keys, half, strict=True)]
        try:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise AskonceError(
                f"cannot write the vector cache {str(self.path)!r}: {error}; free some disk "
                "space, or set ASKONCE_CACHE to another folder"
            ) from None

    def read(
        self,
        items: Mapping[bytes, T],
        length: Callable[[T], int],
        encode: Callable[[list[T]], Iterable[np.ndarray]],
        on_progress: OnProgress | None = None,
        keep: bool = True,
    ) -> dict[bytes, np.ndarray]:
        """The vectors of items by their keys; what the cache lacks is encoded now.

        With ``keep``, it is also written to the cache, as soon as it is encoded.
        """
        vectors = self.get(list(items))
        # longest first over all, so that every batch holds items of like length
        missing = [(key, item) for key, item in items.items() if key not in vectors]
        missing.sort(key=lambda pair: -length(pair[1]))
        for start in range(0, len(missing), SAVED):
            keys, chunk = zip(*missing[start : start + SAVED], strict=True)
            fresh = [vector.astype(np.float16) for vector in encode(list(chunk))]
            if keep:
                self.put(keys, fresh)
            vectors |= zip(keys, fresh, strict=True)
            if on_progress is not None:
                on_progress(start + len(chunk), len(missing))
        return vectors

    def close(self) -> None:
        self._database.close()


class WordCache(VectorCache):
    """The vectors of the words of texts, each (T, E): ``words-TEACHER.sqlite``."""

    prefix = "words"

    def _whole(self, blob: bytes) -> bool:
        return len(blob) % (2 * self.dim) == 0

    def _array(self, numbers: np.ndarray) -> np.ndarray:
        return numbers.reshape(-1, self.dim)
