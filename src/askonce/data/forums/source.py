"""Where an importer reads from, with which options, and how far it has come."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from askonce.errors import AskonceError
from askonce.files import Stream, open_stream


@dataclass
class Source:
    """The path of a dump, the options of its import, and its progress."""

    path: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # our field -> the column of a CSV
    code: bool = True  # whether blocks of code stay in a post's plain text
    moved: Callable[["Source"], None] | None = None  # called whenever ``done`` grew
    size: int = 0  # bytes to read, as far as known
    done: int = 0

    def need_path(self, what: str) -> Path:
        """The path, which must be given and exist."""
        if self.path is None:
            raise AskonceError(f"name the file or folder to import from: {what}")
        if not self.path.exists():
            raise AskonceError(f"nothing at {str(self.path)!r}; expected {what}")
        return self.path

    def need_file(self, what: str) -> Path:
        """The path, which must be a file."""
        path = self.need_path(what)
        if not path.is_file():
            raise AskonceError(f"{str(path)!r} is a folder; expected {what}")
        return path

    def expect(self, *paths: Path) -> None:
        """Add the sizes of files that will be read to the total."""
        self.size += sum(path.stat().st_size for path in paths)

    def advance(self, count: int) -> None:
        self.done += count
        if self.moved is not None:
            self.moved(self)

    def open(self, path: Path) -> AbstractContextManager[Stream]:
        """Read a file and report the progress."""
        return open_stream(path, self.advance, tolerant=True)
