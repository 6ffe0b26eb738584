"""One reader per file format, shared by benchmarks and forums.

A reader takes a :class:`~askonce.files.Stream` and yields records; in place of a record that it
cannot read it yields a DataError. Forums count these and go on; benchmarks raise the first
(:func:`~askonce.files.raise_errors`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from askonce.errors import DataError

T = TypeVar("T")


@dataclass(slots=True)  # not frozen: setting frozen fields would take a tenth of reading a file
class Record:
    """Named values, and the file and line they come from."""

    path: Path
    line: int | None
    values: Mapping[str, Any]

    def error(self, expected: str, actual: object) -> DataError:
        return DataError(self.path, expected, actual, self.line)

    def inside(self, what: str, values: Mapping[str, Any]) -> "Record":
        """A part of this record; errors name it after the file."""
        return Record(Path(f"{self.path}, {what}"), self.line, values)

    def get(self, key: str) -> str:
        """The stripped text of a table's column; empty if there is no such column."""
        return self.values.get(key, "").strip()

    def text(self, key: str, default: str | None = None) -> str:
        """A text, required unless there is a default."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.error(f"{key!r}: a text", value if key in self.values else "nothing")
        return value

    def name(self, key: str) -> str:
        """A required id: a text, or an integer converted to text."""
        value = self.values.get(key)
        return str(value) if type(value) is int else self.text(key)

    def items(self, key: str) -> list[Any]:
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.error(f"{key!r}: a list", value if key in self.values else "nothing")
        return value

    def optional(self, key: str, kind: type[T]) -> T | None:
        """A value of this type, or None if it is missing or null."""
        value = self.values.get(key)
        if value is None or type(value) is kind:
            return value
        raise self.error(f"{key!r}: {kind.__name__}", value)

    def integer(self, key: str) -> int | None:
        """The whole number that a text holds; None without one."""
        value = self.values.get(key)
        text = "" if value is None else str(value).strip()
        try:
            return int(text) if text else None
        except ValueError:
            raise self.error(f"{key!r}: a whole number", text) from None

    def parts(self, key: str, what: str) -> Iterator["Record | DataError"]:
        """The objects of a list, each with its number for errors; a missing list is empty."""
        for number, item in enumerate(self.items(key) if key in self.values else (), start=1):
            if isinstance(item, dict):
                name = item.get("id", item.get("number", number))
                yield self.inside(f"{what} {name}", item)
            else:
                yield self.error(f"{key!r}: a list of objects", item)
