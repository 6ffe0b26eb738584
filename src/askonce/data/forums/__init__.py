"""Readers of forums' own formats: each a stream of posts and links, one record at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from askonce.data.forums.source import Source
from askonce.errors import DataError
from askonce.registry import Registry
from askonce.types import Link, Post


@dataclass(frozen=True, slots=True)
class Damaged:
    """A record that could not be read: where it stands and what is wrong with it."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"

    @classmethod
    def of(cls, error: DataError) -> "Damaged":
        """The record that an error is about."""
        line = "" if error.line is None else f", line {error.line}"
        where = f"{error.path}{line}"
        return cls(where, str(error).removeprefix(f"{where}: "))


Record = Post | Link | Damaged
Importer = Callable[[Source], Iterator[Record]]
IMPORTERS: Registry[Importer] = Registry("format", "askonce.data.forums")

__all__ = ["IMPORTERS", "Damaged", "Importer", "Record", "Source"]
