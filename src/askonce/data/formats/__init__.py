"""One reader per file format, shared by benchmarks and forums.

A reader takes a :class:`~askonce.files.Stream` and yields records; in place of a record that it
cannot read it yields a DataError. Forums count these and go on; benchmarks raise the first
(:func:`~askonce.files.raise_errors`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askonce.errors import DataError


@dataclass(frozen=True, slots=True)
class Record:
    """Named values, and the file and line they come from."""

    path: Path
    line: int | None
    values: Mapping[str, Any]

    def error(self, expected: str, found: object) -> DataError:
        """An error that names the file and the line."""
        return DataError(self.path, expected, found, self.line)

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
