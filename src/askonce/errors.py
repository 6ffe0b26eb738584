"""Errors that a user can fix; the command line and the server show these as one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class AskonceError(Exception):
    """Base of all errors that are about the user's input rather than about our code."""


class DataError(AskonceError):
    """A file does not hold what it should: says where, what was expected and what was found."""

    def __init__(
        self, path: Path | str, expected: str, actual: object = None, line: int | None = None
    ) -> None:
        where = f"{path}, line {line}" if line is not None else f"{path}"
        message = f"{where}: expected {expected}"
        if actual is not None:
            message += f", found {shorten(actual)}"
        super().__init__(message)
        self.path, self.expected, self.actual, self.line = path, expected, actual, line


class ConfigError(AskonceError):
    """A setting has an unknown name or an impossible value."""


class UnknownName(ConfigError):
    """A name that no registry holds; the message lists the nearest ones."""


class NotAnEncoder(AskonceError):
    """A model that compares both texts together was asked for vectors."""


class MissingExtra(AskonceError):
    """An optional package is not installed; the message holds the command that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package!r}: pip install 'askonce[{extra}]'")


@contextmanager
def needing(extra: str, purpose: str) -> Iterator[None]:
    """Import optional packages in this block; one that is missing is a MissingExtra."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(error.name or extra, extra, purpose) from error


class ArchiveUnavailable(AskonceError):
    """The database of an archive does not answer, or cannot be written now; try again later."""


def shorten(value: object, limit: int = 80) -> str:
    """The value as it would be typed, cut so that a message stays one line."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
