"""Posts in a collection of a Milvus database, and how far each collection follows the archive.

Positions are rows of one more collection. Milvus keeps what it acknowledged, in order, and a
position is written after its posts, so after a crash it may be behind them, never ahead.
"""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, unquote

from askonce.errors import AskonceError
from askonce.index.base import IndexDamaged, IndexState, batches
from askonce.index.milvus.client import MAX_RESULTS, WRITE_SECONDS, Milvus, NotLoaded
from askonce.types import Post

POSITIONS = "askonce_positions"  # the collection of positions
MAX_LENGTH = 1000  # characters of a collection's name and of its maker, in POSITIONS
BATCH = 500  # posts of one message
LONGEST_ID = 2400  # 200 characters of four bytes, each written as %XX
TIES = 1000  # posts tied with the last hit that are ordered by id

Made = Mapping[str, object]  # kind, format and maker of a collection


class MilvusCollection(ABC):
    """One index on Milvus. Several servers may share it; they take turns in changing it.

    The position is in Milvus beside the posts, so the next server continues from there.
    """

    cheap_to_save = True  # one row

    def __init__(self, address: str, name: str, made: Made, writer: bool = True) -> None:
        self.name, self.position = name, 0
        self._made, self._writable = made, writer
        self._writing = threading.Lock()
        self._count: int | None = None  # None: not counted yet
        self._saved = -1
        self._milvus = Milvus.at(address)
        try:
            with self._errors():
                self._open()
        except BaseException:
            self._milvus.close()
            raise

    @property
    def lock_name(self) -> str:
        return self.name

    def __len__(self) -> int:
        count = self._count
        if count is None:
            with self._errors():
                rows = self._milvus.client.query(
                    self.name, output_fields=["count(*)"], timeout=self._milvus.seconds
                )
            self._count = count = int(rows[0]["count(*)"])
        return count

    def add(self, posts: Iterable[Post]) -> None:
        self._need_writer()
        for batch in batches(posts, BATCH):
            rows = self._rows(list({post.id: post for post in batch}.values()))
            self._put(rows)

    def remove(self, ids: Iterable[str]) -> None:
        self._need_writer()
        for batch in batches(dict.fromkeys(ids), BATCH):
            with self._changing():
                keys = [as_key(post_id) for post_id in batch]
                self._milvus.client.delete(self.name, ids=keys, timeout=WRITE_SECONDS)

    def save(self) -> None:
        """Write the position; Milvus has the posts since they were added."""
        self._need_writer()
        position = self.position
        if position != self._saved:
            with self._errors():
                write_position(self._milvus, self.name, position, self._made)
            self._saved = position

    def reload(self) -> None:
        """Read the position; posts that another process added are visible anyway."""
        with self._errors():
            self._read_position()

    def publish(self) -> IndexState:
        """The position; what was added is visible to others."""
        return {"change": self.position}

    def follow(self, state: IndexState) -> None:
        if self.position < state["change"]:
            self.reload()

    def close(self) -> None:
        """Release the database, so that another process can open its file."""
        self._milvus.close()

    @abstractmethod
    def _create(self) -> None: ...

    @abstractmethod
    def _rows(self, posts: Sequence[Post]) -> list[dict[str, Any]]: ...

    def _schema(self) -> Any:  # noqa: ANN401 - pymilvus has no types
        from pymilvus import DataType

        schema = self._milvus.client.create_schema()
        schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=LONGEST_ID)
        return schema

    def _put(self, rows: list[dict[str, Any]]) -> None:
        with self._changing():
            self._milvus.client.upsert(self.name, rows, timeout=WRITE_SECONDS)

    def _open(self) -> None:
        open_positions(self._milvus)
        if self._milvus.client.has_collection(self.name, timeout=self._milvus.seconds):
            self._read_position()
            self._milvus.load(self.name)
        elif not self._writable:
            raise IndexDamaged(f"index {self.name!r} holds no posts yet; rebuild it")
        else:
            self._create()
            self.save()

    def _read_position(self) -> None:
        saved = read_position(self._milvus, self.name)
        if saved is None:
            raise IndexDamaged(f"index {self.name!r} has no position; rebuild it")
        position, made = saved
        if made != self._made:
            raise IndexDamaged(f"index {self.name!r} was made otherwise; rebuild it")
        if position != self.position:
            self._count = None
        self.position = self._saved = position

    def _need_writer(self) -> None:
        if not self._writable:
            raise AskonceError(f"index {self.name!r} was opened for reading only")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise errors of Milvus as ours; after a restart of Milvus, load the collection first."""
        with self._milvus.errors():
            try:
                with self._milvus.errors():
                    yield
            except NotLoaded:
                self._milvus.load(POSITIONS, self.name)
                raise

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One change at a time, after which posts are counted again."""
        with self._writing, self._errors():
            try:
                yield
            finally:
                self._count = None

    def _search(self, query: Any, field: str, limit: int, **options: Any) -> list[Any]:  # noqa: ANN401
        with self._errors():
            results = self._milvus.client.search(
                self.name,
                data=[query],
                anns_field=field,
                limit=min(limit, MAX_RESULTS),
                timeout=self._milvus.seconds,
                **options,
            )
        return list(results[0])


def drop(milvus: Milvus, name: str) -> None:
    """Drop a collection, its position first: without one a collection is not used."""
    open_positions(milvus)
    milvus.client.delete(POSITIONS, ids=[name], timeout=WRITE_SECONDS)
    milvus.client.drop_collection(name, timeout=WRITE_SECONDS)


def as_key(post_id: str) -> str:
    """A post's id in characters that need no quoting in filters of Milvus."""
    return quote(post_id, safe="")


def as_id(key: str) -> str:
    return unquote(key)


def one_of(ids: Iterable[str]) -> str:
    keys = ", ".join(f'"{as_key(post_id)}"' for post_id in ids)
    return f"id in [{keys}]"


def open_positions(milvus: Milvus) -> None:
    """Create the collection of positions, or load it."""
    if milvus.client.has_collection(POSITIONS, timeout=milvus.seconds):
        milvus.load(POSITIONS)
        return
    from pymilvus import DataType

    schema = milvus.client.create_schema()
    schema.add_field("name", DataType.VARCHAR, is_primary=True, max_length=MAX_LENGTH)
    schema.add_field("change", DataType.INT64)
    schema.add_field("made", DataType.VARCHAR, max_length=MAX_LENGTH)
    schema.add_field("unused", DataType.FLOAT_VECTOR, dim=2)  # Milvus requires a vector
    milvus.create(POSITIONS, schema, "unused", index_type="FLAT", metric_type="IP")


def read_position(milvus: Milvus, name: str) -> tuple[int, Made] | None:
    """The change number of a collection and what made it; None if it is incomplete."""
    rows = milvus.client.query(
        POSITIONS,
        filter=f'name == "{name}"',
        output_fields=["change", "made"],
        consistency_level="Strong",
        timeout=milvus.seconds,
    )
    return (int(rows[0]["change"]), json.loads(rows[0]["made"])) if rows else None


def write_position(milvus: Milvus, name: str, change: int, made: Made) -> None:
    row = {"name": name, "change": change, "made": json.dumps(made), "unused": [0.0, 0.0]}
    milvus.client.upsert(POSITIONS, [row], timeout=WRITE_SECONDS)
