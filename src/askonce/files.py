"""Read text files, plain or gzipped; replace files atomically; lock a file for one process."""

import gzip
import io
import json
import os
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from askonce.errors import AskonceError, DataError

if TYPE_CHECKING:
    from filelock import FileLock

T = TypeVar("T")

LONGEST_RECORD = 16 << 20  # bytes of one line or element; four times what a post may hold
LONGEST_GAP = 4 * LONGEST_RECORD  # bytes without a readable record, after which we give up
CHUNK = 256 << 10
# Text compresses tenfold at best: a file that expands far more was made to do harm.
MAX_RATIO = 200
SMALL = 64 << 20  # bytes that any file may expand to


def descend(folder: Path, *names: str) -> Path:
    """The first sub-folder with one of these names, else the folder itself.

    This way a command accepts both a dataset's own folder and the folder that contains it.
    """
    folder = Path(folder)
    if not folder.exists():
        raise AskonceError(
            f"no folder {str(folder)!r}; --data names the folder that holds the files"
        )
    if not folder.is_dir():
        raise AskonceError(f"{str(folder)!r} is a file; --data names the folder that holds it")
    return next((folder / name for name in names if (folder / name).is_dir()), folder)


def find(folder: Path, *names: str) -> Path | None:
    """The first of these files in the folder, plain or with ``.gz``; else ``None``."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    return None


def need(folder: Path, *names: str) -> Path:
    """Like :func:`find`, but a missing file is an error that lists the expected names."""
    path = find(folder, *names)
    if path is None:
        expected = " or ".join(f"{name}[.gz]" for name in names)
        raise AskonceError(f"no {expected} in {str(folder)!r}")
    return path


def need_inside(folder: Path, name: str) -> Path:
    """A file or folder below a folder; a name or link that leads out of it is an error."""
    path = folder / name
    try:
        inside = folder.resolve() in path.resolve().parents
    except (OSError, RuntimeError, ValueError) as error:  # not a name, or a cycle of links
        raise DataError(folder, "the name of something in it", str(error)) from None
    if not inside:
        raise DataError(folder, "the name of something in it", name)
    return path


@contextmanager
def open_stream(
    path: Path, on_read: Callable[[int], None] | None = None, tolerant: bool = False
) -> Iterator["Stream"]:
    """Read a file, decompressed if its name ends in ``.gz``.

    ``on_read`` is called with the number of bytes that were read from disk. The lines of a damaged
    gzip file end in an error, unless ``tolerant``: then see :meth:`Stream.flaws`.
    """
    try:
        file = _CountingFile(path, on_read)
    except OSError as error:
        raise AskonceError(f"cannot read {str(path)!r}: {error.strerror}") from None
    with file:
        name = Path(path.name) if tolerant else path
        yield Stream(name, _Gunzipped(name, file) if path.suffix == ".gz" else file, tolerant)


class Stream:
    """The content of a file in pieces of bounded size."""

    def __init__(self, name: Path, raw: "_CountingFile | _Gunzipped", tolerant: bool) -> None:
        self.name, self._tolerant = name, tolerant
        self._raw, self._buffer = raw, io.BufferedReader(raw, CHUNK)

    def chunks(self) -> Iterator[bytes]:
        """Many whole lines at a time; only a line longer than a record may be is cut."""
        while chunk := self._buffer.read(CHUNK):
            if len(chunk) == CHUNK and not chunk.endswith(b"\n"):
                chunk += self._buffer.readline(LONGEST_RECORD)
            yield chunk

    def lines(self, longest: int | None = None) -> Iterator[bytes]:
        """One line at a time; of a line longer than a record may be, only the start."""
        longest, number = longest or LONGEST_RECORD, 0
        while line := self._buffer.readline(longest + 1):
            number += 1
            if not line.endswith(b"\n"):
                self._refuse_flaw(number)
                rest, length = line, len(line)
                while len(rest) > longest and not rest.endswith(b"\n"):
                    refuse_gap(self.name, length)
                    rest = self._buffer.readline(longest + 1)
                    length += len(rest)
            yield line
        self._refuse_flaw(number + 1)

    def _refuse_flaw(self, line: int) -> None:
        for flaw in self.flaws(line) if not self._tolerant else ():
            raise flaw

    def texts(self, longest: int | None = None) -> Iterator[tuple[int, str] | DataError]:
        """Numbered lines of UTF-8 without line ends; an error in place of each unreadable line."""
        longest, number = longest or LONGEST_RECORD, 0
        for number, raw in enumerate(self.lines(longest), start=1):
            if len(raw) > longest:
                limit = f"lines of at most {longest:,} bytes"
                yield DataError(self.name, limit, "a longer one", number)
                continue
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                bad = raw[error.start : error.start + 10]
                yield DataError(self.name, "UTF-8 text", bad, number)
            else:
                yield number, text.rstrip("\r\n")
        yield from self.flaws(number + 1)

    def flaws(self, line: int | None = None) -> Iterator[DataError]:
        """After reading: an error if the file was cut off or damaged."""
        if self._raw.flaw is not None:
            yield DataError(self.name, "a whole gzip file", self._raw.flaw, line)


def refuse_gap(name: Path, length: int) -> None:
    """Give up on a file that goes on and on without a record."""
    if length > LONGEST_GAP:
        raise DataError(name, "a record", f"none in {LONGEST_GAP:,} bytes")


def refuse_expansion(path: Path, packed: int, unpacked: int) -> None:
    """Give up on a file that decompresses to far more than text could."""
    if unpacked > SMALL and unpacked > MAX_RATIO * packed:
        sizes = f"{unpacked:,} bytes from {packed:,}"
        raise DataError(path.name, f"at most {MAX_RATIO} times its packed size", sizes)


class _CountingFile(io.FileIO):
    flaw: str | None = None

    def __init__(self, path: Path, on_read: Callable[[int], None] | None) -> None:
        super().__init__(path)
        self._on_read = on_read

    def readinto(self, buffer: bytearray | memoryview) -> int | None:  # type: ignore[override]
        count = super().readinto(buffer)
        if self._on_read is not None:
            self._on_read(count or 0)
        return count


class _Gunzipped(io.RawIOBase):
    """A gzip file that ends where it is damaged, and is refused if it expands like no text does."""

    def __init__(self, name: Path, packed: _CountingFile) -> None:
        self.flaw: str | None = None
        self._name, self._packed, self._count = name, packed, 0
        self._inner = gzip.GzipFile(fileobj=io.BufferedReader(packed, CHUNK))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._inner.read1(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.flaw = str(error).lower()
            return 0
        buffer[: len(data)] = data
        self._count += len(data)
        refuse_expansion(self._name, self._packed.tell(), self._count)
        return len(data)


SHOWN = 5  # damaged records that are printed
_skipped: ContextVar[list[DataError] | None] = ContextVar("skipped", default=None)


@contextmanager
def skipping_damaged() -> Iterator[list[DataError]]:
    """Readers of benchmarks skip damaged records while this is open; the list gets their errors."""
    errors: list[DataError] = []
    token = _skipped.set(errors)
    try:
        yield errors
    finally:
        _skipped.reset(token)


def damaged_lines(name: str, errors: Sequence[DataError]) -> list[str]:
    """How many records of a dataset were skipped, and the first of them."""
    if not errors:
        return []
    return [f"{name}: {len(errors):,} damaged lines were skipped:", *map(str, errors[:SHOWN])]


def refuse(error: DataError) -> None:
    """Raise the error of a damaged record, or note it where these are skipped."""
    skipped = _skipped.get()
    if skipped is None:
        raise error
    skipped.append(error)


def raise_errors(records: Iterable[T | DataError]) -> Iterator[T]:
    """The records of a reader, raising the first error among them unless these are skipped."""
    for record in records:
        if isinstance(record, DataError):
            refuse(record)
        else:
            yield record


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file, numbered from 1, without line ends; an empty file is an error."""
    number = 0
    with open_stream(path) as stream:
        for number, line in raise_errors(stream.texts(LONGEST_GAP)):
            yield number, line
    if number == 0:
        raise DataError(path, "at least one line", "an empty file")


def rows(path: Path, columns: int, separator: str | None = "\t") -> Iterator[tuple[int, list[str]]]:
    """The fields of each line of a table that must have exactly this many columns."""
    for number, line in numbered_lines(path):
        fields = line.split(separator)
        if len(fields) != columns:
            raise DataError(path, f"{columns} columns", f"{len(fields)} in {line!r}", number)
        yield number, fields


def whole_text(path: Path) -> str:
    """The decoded content of a file that is not read line by line (XML, JSON)."""
    return "\n".join(line for _, line in numbered_lines(path))


def json_value(path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(path, "JSON", str(error)) from None


def flush_to_disk(path: Path) -> None:
    """Flush a file or folder to disk: a rename may get there before the content it renames."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path to write to; it replaces ``path``, flushed to disk, if the block succeeds.

    Readers see the old file or the new one, never a part, even after a crash. The temporary name
    ends as ``path`` does, since some writers choose a format by the suffix.
    """
    part = path.with_name(f".{os.getpid()}-{threading.get_native_id()}.{path.name}")
    try:
        yield part
        flush_to_disk(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_atomic(path: Path, content: str | bytes) -> None:
    with replacing(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


class Lock:
    """A file that one process at a time holds; the system frees it when that process ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: FileLock | None = None

    def acquire(self) -> bool:
        """Take the lock; False if another process holds it or the folder cannot be written."""
        try:
            self.take()
        except OSError:
            return False
        return True

    def take(self) -> None:
        """Take the lock; TimeoutError if it is held, another OSError if it cannot be written."""
        from filelock import FileLock

        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path, blocking=False, thread_local=False)
        lock.acquire()
        self._lock = lock
        with suppress(OSError):  # a full disk: the lock holds, but does not name its holder
            self.path.write_text(str(os.getpid()))

    def holder(self) -> str:
        try:
            number = self.path.read_text().strip()
        except OSError:
            number = ""
        return f"process {number}" if number.isdecimal() else "another process"

    def refusal(self, what: str) -> AskonceError:
        return AskonceError(
            f"{what} belong to {self.holder()}, or {str(self.path.parent)!r} cannot be written; "
            "stop that process or repair the folder"
        )

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


@contextmanager
def locked(path: Path, refusal: str) -> Iterator[None]:
    """Hold the lock of this file; an error with this text if another process holds it."""
    lock = Lock(path)
    try:
        lock.take()
    except TimeoutError:
        raise AskonceError(f"{refusal} (it is {lock.holder()})") from None
    except OSError as error:
        raise AskonceError(f"cannot write to {str(path.parent)!r}: {error.strerror}") from None
    try:
        yield
    finally:
        lock.release()
