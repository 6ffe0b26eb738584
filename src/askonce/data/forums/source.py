"""Where an importer reads from, with which options, and how far it has come."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from askonce.data.formats import Record
from askonce.data.formats.jsonl import json_documents
from askonce.data.formats.sources import web_address
from askonce.errors import AskonceError, DataError
from askonce.files import Stream, open_stream

LONGEST_JSON = 512 << 20  # bytes of a JSON file that is read as a whole
_JSON = (".json", ".jsonl", ".ndjson")


@dataclass
class Source:
    """The path of a dump, the options of its import, and its progress."""

    path: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # our field -> the column of a CSV
    site: str | None = None  # the forum's name, or the address that its posts' links begin with
    mapping: Path | None = None  # the file that says which element is which field
    code: bool = True  # whether blocks of code stay in a post's plain text
    moved: Callable[["Source"], None] | None = None  # called whenever ``done`` grew
    size: int = 0  # bytes to read, as far as known
    done: int = 0

    @property
    def address(self) -> str | None:
        return web_address(self.site) or (f"https://{self.site}" if self.site else None)

    def need_path(self, what: str) -> Path:
        if self.path is None:
            raise AskonceError(f"name the file or folder to import from: {what}")
        if not self.path.exists():
            raise AskonceError(f"nothing at {str(self.path)!r}; expected {what}")
        return self.path

    def need_file(self, what: str) -> Path:
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
        return open_stream(path, self.advance, tolerant=True)

    def files(self, what: str, *suffixes: str) -> list[Path]:
        """The file, or those of the folder with one of these endings, .gz or not."""
        path = self.need_path(what)
        if path.is_file():
            return [path]
        files = sorted(p for p in path.rglob("*") if p.name.removesuffix(".gz").endswith(suffixes))
        if not files:
            raise AskonceError(f"no {' or '.join(suffixes)} in {str(path)!r}; expected {what}")
        return files

    def json_pages(self, what: str) -> Iterator[Record | DataError]:
        """The JSON objects of a file or of all files of a folder, such as saved pages of an API."""
        paths = self.files(what, *_JSON)
        self.expect(*paths)
        for path in paths:
            with self.open(path) as stream:
                yield from json_documents(stream, LONGEST_JSON)
