"""Files of one JSON object per line, with errors that name the line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from askonce.errors import DataError
from askonce.files import numbered_lines

Object = dict[str, Any]


def json_lines(path: Path, may_be_empty: bool = False) -> Iterator[tuple[int, Object]]:
    """The objects of a file with their line numbers; blank lines are passed over."""
    if may_be_empty and path.stat().st_size == 0:
        return
    for number, line in numbered_lines(path):
        if line.strip():
            yield number, json_object(path, line, number)


def json_object(path: Path, text: str, line: int | None = None) -> Object:
    """One JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError(path, "a JSON object", text, line) from None
    if not isinstance(value, dict):
        raise DataError(path, "a JSON object", value, line)
    return value


def name_field(path: Path, line: int, value: Object, key: str) -> str:
    """An id: text, or a whole number taken as text."""
    name = value.get(key)
    return str(name) if type(name) is int else text_field(path, line, value, key)


def text_field(path: Path, line: int, value: Object, key: str, default: str | None = None) -> str:
    """A text, which must be there unless there is a default."""
    text = value.get(key, default)
    if not isinstance(text, str):
        raise DataError(path, f"{key!r}: a text", text if key in value else "nothing", line)
    return text


def list_field(path: Path, line: int, value: Object, key: str) -> list[Any]:
    """A list, which must be there."""
    items = value.get(key)
    if not isinstance(items, list):
        raise DataError(path, f"{key!r}: a list", items if key in value else "nothing", line)
    return items
