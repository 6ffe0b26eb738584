"""``position.json`` in the folder of an index: its format, change number and maker."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askonce.errors import AskonceError, shorten
from askonce.files import write_atomic
from askonce.index.base import IndexDamaged, IndexUnavailable

FILE = "position.json"


def damaged(folder: Path, reason: str) -> IndexDamaged:
    """The error for a folder that cannot be used."""
    return IndexDamaged(f"index {str(folder)!r} {reason}; rebuild it")


def read(folder: Path, expected: Mapping[str, object]) -> dict[str, Any]:
    """The content of the file; an error where it differs from ``expected``, such as the format."""
    try:
        content = json.loads((folder / FILE).read_text("utf-8"))
    except FileNotFoundError:
        raise damaged(folder, f"has no {FILE}") from None
    except (OSError, ValueError) as error:
        raise damaged(folder, f"has a {FILE} that cannot be read ({error})") from None
    if not isinstance(content, dict) or not isinstance(content.get("change"), int):
        raise damaged(folder, f"has a {FILE} without a change number")
    for name, value in expected.items():
        if (actual := content.get(name)) != value:
            raise damaged(folder, f"was made with {name} {shorten(actual)}, not {shorten(value)}")
    return content


def write(folder: Path, content: Mapping[str, object]) -> None:
    """Replace the file atomically; it is on disk when this returns."""
    try:
        write_atomic(folder / FILE, json.dumps(content))
    except OSError as error:
        raise not_writable(folder, error) from None


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_writable(folder, error) from None


def not_writable(folder: Path, error: Exception) -> IndexUnavailable:
    """The error for a folder that cannot be written: read-only, full, or not a folder."""
    reason = str(error).partition("\n")[0]
    return IndexUnavailable(f"index {str(folder)!r} cannot be written: {reason}")


def read_only(folder: Path | None) -> AskonceError:
    """The error for a change to an index that was opened for reading."""
    return AskonceError(f"index {str(folder)!r} was opened for reading only")
