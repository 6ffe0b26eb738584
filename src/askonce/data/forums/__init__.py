"""Readers of forums' own formats: each a stream of posts and links, one record at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from askonce.data import formats
from askonce.data.formats.sources import is_web_address
from askonce.data.formats.sql import SqlRow, sql_rows
from askonce.data.forums.source import Source as Source
from askonce.errors import AskonceError, DataError
from askonce.registry import Registry
from askonce.types import Link, Post

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Damaged:
    """A record that could not be read: where it is and what is wrong with it."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"

    @classmethod
    def of(cls, error: DataError) -> "Damaged":
        line = "" if error.line is None else f", line {error.line}"
        where = f"{error.path}{line}"
        return cls(where, str(error).removeprefix(f"{where}: "))


Imported = Post | Link | Damaged
Importer = Callable[[Source], Iterator[Imported]]
IMPORTERS: Registry[Importer] = Registry("format", "askonce.data.forums")


def converted(
    rows: Iterable[T | DataError], convert: Callable[[T], Iterable[Imported]]
) -> Iterator[Imported]:
    """The posts and links of each row; rows that cannot be read or converted become Damaged."""
    for row in rows:
        if isinstance(row, DataError):
            yield Damaged.of(row)
            continue
        try:
            records = list(convert(row))  # a generator fails here, not where it is read
        except DataError as error:
            yield Damaged.of(error)
        else:
            yield from records


def converted_dump(
    source: Source,
    what: str,
    tables: tuple[str, ...],
    known: T,
    learn: Callable[[T, SqlRow], None],
    convert: Callable[[T, Source, SqlRow], Iterable[Imported]],
) -> Iterator[Imported]:
    """The posts and links of an SQL dump, which is read twice: first to learn, then to convert.

    ``known`` is what is learnt, such as the names of users. Tables are named without the prefix
    that a forum was installed with.
    """

    def rows() -> Iterator[SqlRow | DataError]:
        with source.open(path) as stream:
            for row in sql_rows(stream):
                if isinstance(row, DataError) or row[0].rpartition("_")[2] in tables:
                    yield row

    path = source.need_file(what)
    source.expect(path, path)
    learnt = 0
    for row in rows():
        if not isinstance(row, DataError):
            learn(known, row)
            learnt += 1
    if not learnt:
        names = ", ".join(tables)
        raise AskonceError(f"{path.name}: expected {what}; found no rows of the tables {names}")
    yield from converted(rows(), lambda row: convert(known, source, row))


def by_id(items: Iterable[formats.Record | DataError]) -> dict[str, Mapping[str, Any]]:
    """Objects of a page, such as its users, by their ids as text; unreadable ones are left out."""
    rows = (item for item in items if isinstance(item, formats.Record))
    return {str(row.values.get("id")): row.values for row in rows}


def names_of(items: object) -> tuple[str, ...]:
    """The names in a list of tags, which are texts or objects with a name."""
    items = items if isinstance(items, list) else []
    names = (item.get("name") if isinstance(item, dict) else item for item in items)
    return tuple(name.strip() for name in names if isinstance(name, str) and name.strip())


def whole_number(value: object) -> int:
    """A count of an API; 0 if it is not one."""
    return value if type(value) is int else 0


def iso_date(value: object) -> str | None:
    """A date of an API as it is, if it is one; a number is seconds since 1970."""
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value, UTC).isoformat().replace("+00:00", "Z")
        except (OverflowError, OSError, ValueError):
            return None
    try:
        return value if isinstance(value, str) and datetime.fromisoformat(value) else None
    except ValueError:
        return None


def host_of(address: str | None) -> str | None:
    """The host of an address, as a site's name."""
    return urlsplit(address).hostname if address and is_web_address(address) else None
