"""Shards of an archive: ranges of change numbers whose posts are encoded independently.

The keys of a shard are one file in a work folder, so that an interrupted run resumes with the
missing ones. A shard may be read at any time: a post that changed later has a higher number, so
adding shards in order and then following the archive ends with its latest text.
"""

import json
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np

from askonce.archive import Archive
from askonce.errors import AskonceError
from askonce.files import write_atomic
from askonce.index.base import KeyEncoder
from askonce.types import PostKind

WIDTH = 5000  # change numbers of a shard: seconds on one core


class Shard(NamedTuple):
    start: int
    end: int


class Encoded(NamedTuple):
    ids: list[str]
    keys: np.ndarray  # (n, K)
    deleted: list[str]


def shards_between(start: int, end: int, width: int = WIDTH) -> list[Shard]:
    """Shards of all changes after ``start`` up to ``end``, in order."""
    return [Shard(first, min(first + width, end)) for first in range(start, end, width)]


def encode_shard(archive: Archive, kind: PostKind, coder: KeyEncoder, shard: Shard) -> bytes:
    """The content of a shard's file: ids and keys of its posts, ids of deleted ones."""
    # change numbers are unique, so the first (end - start) changes include the whole shard
    changes = archive.changes(shard.start, shard.end - shard.start)
    changes = [c for c in changes if c.kind == kind and c.number <= shard.end]
    posts = [change.post for change in changes if change.post is not None]
    keys = coder.candidate_keys(posts) if posts else np.empty((0, 0))  # (n, K)
    content = BytesIO()
    np.savez(
        content,
        keys=np.asarray(keys, dtype=np.float32),
        ids=_as_array([post.id for post in posts]),
        gone=_as_array([change.id for change in changes if change.post is None]),
    )
    return content.getvalue()


class ShardFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def missing(self, shards: list[Shard]) -> list[Shard]:
        return [shard for shard in shards if not self._path(shard).exists()]

    def write(self, shard: Shard, content: bytes) -> None:
        """Write a shard; it is on disk when this returns."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomic(self._path(shard), content)
        except OSError as error:
            raise AskonceError(f"{str(self.folder)!r} cannot be written: {error}") from None

    def read(self, shards: list[Shard]) -> Iterator[Encoded]:
        for shard in shards:
            path = self._path(shard)
            try:
                with np.load(path) as file:
                    yield Encoded(_as_list(file["ids"]), file["keys"], _as_list(file["gone"]))
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                path.unlink(missing_ok=True)
                raise AskonceError(f"{str(path)!r} was damaged; run the command again") from None

    def _path(self, shard: Shard) -> Path:
        return self.folder / f"{shard.start:012d}-{shard.end:012d}.npz"


def _as_array(ids: list[str]) -> np.ndarray:
    """Ids as bytes; an array of strings would be as wide as the longest of them."""
    return np.frombuffer(json.dumps(ids).encode(), dtype=np.uint8)


def _as_list(array: np.ndarray) -> list[str]:
    return list(json.loads(array.tobytes()))
