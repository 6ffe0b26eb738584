"""Rows that only grow at the end: keys as float32 in a file mapped into memory, ids in a log."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np

KEY = np.dtype("<f4")


class KeyRows:
    """Keys by row, in memory or in a file. Arrays that were given out never change."""

    def __init__(self, path: Path | None, dim: int, rows: int = 0) -> None:
        self._path, self._dim = path, dim
        self._room = np.empty((0, dim), dtype=KEY)
        self.keys = self._room  # (n, K)
        if rows:
            self.keys = self._mapped(rows)

    def append(self, fresh: np.ndarray) -> None:
        """Put keys (m, K) behind the others."""
        rows = len(self.keys) + len(fresh)
        if self._path is None:
            if rows > len(self._room):
                self._room = np.empty((max(2 * len(self._room), rows), self._dim), dtype=KEY)
                self._room[: len(self.keys)] = self.keys
            self._room[len(self.keys) : rows] = fresh
            self.keys = self._room[:rows]
            return
        # written, not set in the map: a full disk is then an error and not the end of the process
        write_at(self._path, self.keys.nbytes, np.ascontiguousarray(fresh, dtype=KEY).data)
        self.keys = self._mapped(rows)

    def flush(self) -> None:
        """Put all keys on the disk."""
        if self._path is not None and self._path.exists():
            with self._path.open("rb") as stream:
                os.fsync(stream.fileno())

    def _mapped(self, rows: int) -> np.ndarray:
        return np.memmap(self._path, dtype=KEY, mode="r", shape=(rows, self._dim))  # type: ignore[call-overload]


def write_at(path: Path, offset: int, content: "bytes | memoryview", sync: bool = False) -> None:
    """Write into a file from an offset on; at its beginning, one that is not there is made."""
    with _opened(path, create=offset == 0) as stream:
        stream.seek(offset)
        stream.write(content)
        stream.flush()
        if sync:
            os.fsync(stream.fileno())


def _opened(path: Path, create: bool) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o644), "r+b")


def added(ids: Iterable[str]) -> bytes:
    """The log's lines for new rows."""
    return "".join(f"{json.dumps(post_id)}\n" for post_id in ids).encode()


def removed(ids: Sequence[str]) -> bytes:
    """The log's line for posts that were removed."""
    return f"{json.dumps(ids)}\n".encode()


def replay(log: bytes) -> tuple[list[str], dict[str, int]]:
    """The id of every row, and the row of every post that was not removed since."""
    ids: list[str] = []
    rows: dict[str, int] = {}
    for entry in json.loads(b"[%s]" % log.rstrip(b"\n").replace(b"\n", b",")):
        if isinstance(entry, str):
            rows[entry] = len(ids)
            ids.append(entry)
        else:
            for post_id in entry:
                rows.pop(post_id, None)
    return ids, rows
