"""Posts in a collection of a Milvus database: what search by words and by keys share."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from askonce.errors import AskonceError
from askonce.index.base import IndexDamaged
from askonce.index.milvus.client import MOST, WRITE_SECONDS, Milvus, NotLoaded
from askonce.index.milvus.positions import (
    COLLECTION,
    Made,
    forget_position,
    open_positions,
    read_position,
    write_position,
)
from askonce.types import Post

BATCH = 500  # posts of one message
LONGEST_ID = 2400  # 200 characters of four bytes, each written as %XX
T = TypeVar("T")
TIES = 1000  # posts with about the score of the last hit that are looked at for the order of ids


class MilvusCollection(ABC):
    """One index on Milvus. Several servers may use it; they take turns in changing it.

    The position is with the posts in Milvus: who comes next goes on from there. ``reload`` shows
    how far another process has come.
    """

    def __init__(self, address: str, name: str, made: Made, writer: bool = True) -> None:
        self.name, self.position = name, 0
        self._made, self._writable = made, writer
        self._writing = threading.Lock()
        self._count: int | None = None  # None until it is asked for
        self._saved = -1
        self._milvus = Milvus.at(address)
        try:
            with self._told():
                self._open()
        except BaseException:
            self._milvus.close()
            raise

    def __len__(self) -> int:
        count = self._count
        if count is None:
            with self._told():
                rows = self._milvus.client.query(
                    self.name, output_fields=["count(*)"], timeout=self._milvus.seconds
                )
            self._count = count = int(rows[0]["count(*)"])
        return count

    def add(self, posts: Iterable[Post]) -> None:
        """Make these posts findable; a post with a known id takes the place of the old one."""
        self._need_writer()
        for batch in _batches(posts):
            rows = self._rows(list({post.id: post for post in batch}.values()))
            self._put(rows)

    def remove(self, ids: Iterable[str]) -> None:
        """Forget the posts with these ids; unknown ids are no error."""
        self._need_writer()
        for batch in _batches(dict.fromkeys(ids)):
            with self._changing():
                keys = [as_key(post_id) for post_id in batch]
                self._milvus.client.delete(self.name, ids=keys, timeout=WRITE_SECONDS)

    def save(self) -> None:
        """Write the position; posts are in Milvus since they were added."""
        self._need_writer()
        position = self.position
        if position != self._saved:
            with self._told():
                write_position(self._milvus, self.name, position, self._made)
            self._saved = position

    def reload(self) -> None:
        """See how far another process has come; what it added is seen anyway."""
        with self._told():
            self._read_position()

    def close(self) -> None:
        """Let another process open the file; a server is used by many at once."""
        self._milvus.close()

    @abstractmethod
    def _create(self) -> None:
        """Make the collection."""

    @abstractmethod
    def _rows(self, posts: Sequence[Post]) -> list[dict[str, Any]]:
        """The rows of these posts."""

    def _put(self, rows: list[dict[str, Any]]) -> None:
        """Write rows, as many as one message takes."""
        with self._changing():
            self._milvus.client.upsert(self.name, rows, timeout=WRITE_SECONDS)

    def _open(self) -> None:
        open_positions(self._milvus)
        if self._milvus.client.has_collection(self.name, timeout=self._milvus.seconds):
            self._read_position()
            self._milvus.load(self.name)
        elif not self._writable:
            raise IndexDamaged(f"index {self.name!r} holds no posts yet; build it anew")
        else:
            self._create()
            self.save()

    def _read_position(self) -> None:
        found = read_position(self._milvus, self.name)
        if found is None:
            raise IndexDamaged(f"index {self.name!r} has no position; build it anew")
        if found[1] != self._made:
            raise IndexDamaged(f"index {self.name!r} was made otherwise; build it anew")
        if found[0] != self.position:
            self._count = None
        self.position = self._saved = found[0]

    def _need_writer(self) -> None:
        if not self._writable:
            raise AskonceError(f"index {self.name!r} was opened for reading only")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of Milvus as ours; after one of a Milvus that was started again, it is ready."""
        with self._milvus.told():
            try:
                with self._milvus.told():
                    yield
            except NotLoaded:
                self._milvus.load(COLLECTION, self.name)
                raise

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One change at a time, after which posts are counted anew."""
        with self._writing, self._told():
            try:
                yield
            finally:
                self._count = None

    def _search(self, query: Any, field: str, limit: int, **options: Any) -> list[Any]:  # noqa: ANN401
        with self._told():
            found = self._milvus.client.search(
                self.name,
                data=[query],
                anns_field=field,
                limit=min(limit, MOST),
                timeout=self._milvus.seconds,
                **options,
            )
        return list(found[0])


def drop(milvus: Milvus, name: str) -> None:
    """Throw a collection away, its position first: without one a collection counts for nothing."""
    open_positions(milvus)
    forget_position(milvus, name)
    milvus.client.drop_collection(name, timeout=WRITE_SECONDS)


def as_key(post_id: str) -> str:
    """A post's id in letters that need no quoting in Milvus' expressions."""
    return quote(post_id, safe="")


def as_id(key: str) -> str:
    """The post's id of a key."""
    return unquote(key)


def one_of(ids: Iterable[str]) -> str:
    """The filter for these posts."""
    keys = ", ".join(f'"{as_key(post_id)}"' for post_id in ids)
    return f"id in [{keys}]"


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    stream = iter(items)
    while batch := list(islice(stream, BATCH)):
        yield batch
