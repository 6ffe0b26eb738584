"""Shards of an archive: ranges of change numbers whose posts are encoded on their own.

The keys of a shard are one file in a work folder, so that a run that was stopped goes on with those
that are missing. A shard may be read at any time: a post that changed since has a higher number,
and who takes shards in their order and then follows the archive meets its latest text last.
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

WIDTH = 5000  # change numbers of a shard: seconds of one core


class Shard(NamedTuple):
    """The changes after one number, up to another."""

    start: int
    end: int


class Encoded(NamedTuple):
    """What a shard holds of one kind of posts."""

    ids: list[str]
    keys: np.ndarray  # (n, K)
    gone: list[str]  # posts that were deleted


def shards_between(start: int, end: int, width: int = WIDTH) -> list[Shard]:
    """All changes after ``start`` up to ``end``, in order."""
    return [Shard(first, min(first + width, end)) for first in range(start, end, width)]


def encode_shard(archive: Archive, kind: PostKind, coder: KeyEncoder, shard: Shard) -> bytes:
    """The content of a shard's file: ids and keys of its posts, ids of those that are gone."""
    # numbers are given once, so the first (end - start) changes are all of them or reach beyond
    found = archive.changes(shard.start, shard.end - shard.start)
    changes = [c for c in found if c.kind == kind and c.number <= shard.end]
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
    """The files of shards, each whole or not there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def missing(self, shards: list[Shard]) -> list[Shard]:
        """Those that nobody has encoded yet."""
        return [shard for shard in shards if not self._path(shard).exists()]

    def write(self, shard: Shard, content: bytes) -> None:
        """Keep a shard; it is on the disk when this returns."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomic(self._path(shard), content)
        except OSError as error:
            raise AskonceError(f"{str(self.folder)!r} cannot be written: {error}") from None

    def read(self, shards: list[Shard]) -> Iterator[Encoded]:
        """What was kept, one shard in memory at a time."""
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
    """Any ids as bytes; an array of strings would be as wide as the longest of them."""
    return np.frombuffer(json.dumps(ids).encode(), dtype=np.uint8)


def _as_list(array: np.ndarray) -> list[str]:
    return list(json.loads(array.tobytes()))
