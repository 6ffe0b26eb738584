"""Readers of forums' own formats: each a stream of posts and links, one record at a time."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from askonce.data.forums.source import Source
from askonce.errors import DataError
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


Record = Post | Link | Damaged
Importer = Callable[[Source], Iterator[Record]]
IMPORTERS: Registry[Importer] = Registry("format", "askonce.data.forums")


def converted(
    rows: Iterable[T | DataError], convert: Callable[[T], Iterable[Post | Link]]
) -> Iterator[Record]:
    """The posts and links of each row; rows that cannot be read or converted become Damaged."""
    for row in rows:
        if isinstance(row, DataError):
            yield Damaged.of(row)
            continue
        try:
            records = list(convert(row))
        except DataError as error:
            yield Damaged.of(error)
        else:
            yield from records


__all__ = ["IMPORTERS", "Damaged", "Importer", "Record", "Source", "converted"]
