"""What an importer reads: files of any size, plain or gzipped, in bounded memory."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from askonce.errors import AskonceError, DataError
from askonce.files import refuse_swelling

LONGEST_RECORD = 16 << 20  # bytes of one line or element; four times what a post may hold
LONGEST_GAP = 4 * LONGEST_RECORD  # bytes without a record that can be read; no dump has so many
CHUNK = 256 << 10


@dataclass
class Source:
    """The place of a dump, what to make of it, and how far it has been read."""

    place: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # our field -> the column of a CSV
    code: bool = True  # whether blocks of code stay in a post's plain text
    moved: Callable[["Source"], None] | None = None  # called whenever ``done`` grew
    size: int = 0  # bytes to read, as far as known
    done: int = 0

    def need_place(self, what: str) -> Path:
        """The place, which must be named and must exist."""
        if self.place is None:
            raise AskonceError(f"name the place to import from: {what}")
        if not self.place.exists():
            raise AskonceError(f"nothing at {str(self.place)!r}; expected {what}")
        return self.place

    def need_file(self, what: str) -> Path:
        """The place, which must be a file."""
        path = self.need_place(what)
        if not path.is_file():
            raise AskonceError(f"{str(path)!r} is a folder; expected {what}")
        return path

    def expect(self, *paths: Path) -> None:
        """Say which files will be read, so that progress has an end."""
        self.size += sum(path.stat().st_size for path in paths)

    def advance(self, count: int) -> None:
        """Say that so many more bytes are read."""
        self.done += count
        if self.moved is not None:
            self.moved(self)

    @contextmanager
    def open(self, path: Path) -> Iterator["Stream"]:
        """The content of a file, unpacked if its name ends in ``.gz``."""
        try:
            counted = _Counted(path, self)
        except OSError as error:
            raise AskonceError(f"cannot read {str(path)!r}: {error.strerror}") from None
        with counted:
            raw = _Unpacked(path, counted) if path.suffix == ".gz" else counted
            yield Stream(Path(path.name), raw)


class Stream:
    """Bytes of a file in pieces of bounded size."""

    def __init__(self, name: Path, raw: "_Counted | _Unpacked") -> None:
        self.name = name
        self._raw, self._buffer = raw, io.BufferedReader(raw, CHUNK)

    @property
    def flaw(self) -> str | None:
        """Why the file ended before its end, known once all was read."""
        return self._raw.flaw

    def chunks(self) -> Iterator[bytes]:
        """Many lines at once; none is cut, unless it is longer than a record may be."""
        while chunk := self._buffer.read(CHUNK):
            if len(chunk) == CHUNK and not chunk.endswith(b"\n"):
                chunk += self._buffer.readline(LONGEST_RECORD)
            yield chunk

    def lines(self) -> Iterator[bytes]:
        """One line at a time; of a longer one than a record may be only the beginning."""
        while line := self._buffer.readline(LONGEST_RECORD + 1):
            rest, length = line, len(line)
            while len(rest) > LONGEST_RECORD and not rest.endswith(b"\n"):
                rest = self._buffer.readline(LONGEST_RECORD + 1)
                length += len(rest)
                refuse_gap(self.name, length)
            yield line


def refuse_gap(name: Path, length: int) -> None:
    """Stop at a file that goes on and on without a record."""
    if length > LONGEST_GAP:
        raise DataError(name, "a record", f"none in {LONGEST_GAP:,} bytes")


class _Counted(io.FileIO):
    """A file that says how much of it was read."""

    flaw = None

    def __init__(self, path: Path, source: Source) -> None:
        super().__init__(path)
        self._source = source

    def readinto(self, buffer: bytearray | memoryview) -> int | None:  # type: ignore[override]
        count = super().readinto(buffer)
        self._source.advance(count or 0)
        return count


class _Unpacked(io.RawIOBase):
    """A gzip file that ends where it is damaged, and is refused if it swells like no text does."""

    def __init__(self, path: Path, packed: _Counted) -> None:
        self.flaw: str | None = None
        self._path, self._packed, self._out = path, packed, 0
        self._inner = gzip.GzipFile(fileobj=io.BufferedReader(packed, CHUNK))

    def readable(self) -> bool:
        """As a reader must say."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Unpack into the buffer; 0 at the end or where the file is damaged."""
        try:
            data = self._inner.read1(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.flaw = f"expected a whole gzip file, found {str(error).lower()}"
            return 0
        buffer[: len(data)] = data
        self._out += len(data)
        refuse_swelling(self._path, self._packed.tell(), self._out)
        return len(data)
