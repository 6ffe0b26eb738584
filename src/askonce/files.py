"""Read text files, plain or gzipped; replace files atomically; lock a file for one process."""

import gzip
import json
import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askonce.errors import AskonceError, DataError

if TYPE_CHECKING:
    from filelock import FileLock

LONGEST_LINE = 64 << 20  # bytes
# Text packs to a tenth at best; what swells far more was made to fill memory, disk or time.
SWELL = 200
SMALL = 64 << 20  # bytes that any file may unpack to


def descend(folder: Path, *names: str) -> Path:
    """The sub-folder of one of these names if there is one, else the folder itself.

    So a command works with the folder of one dataset and with the folder that holds them all.
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
    """The first of these files that the folder holds, plain or with ``.gz``; else ``None``."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    return None


def need(folder: Path, *names: str) -> Path:
    """Like :func:`find`, but a missing file is an error that says which names were looked for."""
    path = find(folder, *names)
    if path is None:
        looked = " or ".join(f"{name}[.gz]" for name in names)
        raise AskonceError(f"no {looked} in {str(folder)!r}")
    return path


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file, numbered from 1, without line ends; an empty file is an error."""
    number, length, packed = 0, 0, path.suffix == ".gz"
    size = path.stat().st_size
    with gzip.open(path, "rb") if packed else path.open("rb") as stream:
        try:
            while raw := stream.readline(LONGEST_LINE):
                number, length = number + 1, length + len(raw)
                if len(raw) == LONGEST_LINE:
                    limit = f"lines of less than {LONGEST_LINE:,} bytes"
                    raise DataError(path, limit, "a longer one", number)
                if packed:
                    refuse_swelling(path, size, length)
                yield number, _decode(path, number, raw).rstrip("\r\n")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(path, "a whole gzip file", str(error), number + 1) from None
    if number == 0:
        raise DataError(path, "at least one line", "an empty file")


def refuse_swelling(path: Path, packed: int, unpacked: int) -> None:
    """Stop at a file that unpacks to far more than text could."""
    if unpacked > SMALL and unpacked > SWELL * packed:
        found = f"{unpacked:,} bytes from {packed:,}"
        raise DataError(path.name, f"at most {SWELL} times its packed size", found)


def json_value(path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
    """What a JSON file says."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(path, "JSON", str(error)) from None


def need_inside(folder: Path, name: str) -> Path:
    """A file or folder below a folder; a name or link that leads out of it is an error."""
    path = folder / name
    try:
        inside = folder.resolve() in path.resolve().parents
    except (OSError, RuntimeError, ValueError) as error:  # no name, or links in a circle
        raise DataError(folder, "the name of something in it", str(error)) from None
    if not inside:
        raise DataError(folder, "the name of something in it", name)
    return path


def rows(path: Path, columns: int, separator: str = "\t") -> Iterator[tuple[int, list[str]]]:
    """The fields of each line of a table that must have exactly this many columns."""
    for number, line in numbered_lines(path):
        fields = line.split(separator)
        if len(fields) != columns:
            raise DataError(path, f"{columns} columns", f"{len(fields)} in {line!r}", number)
        yield number, fields


def whole_text(path: Path) -> str:
    """The decoded content of a file that is not read by lines (XML, JSON)."""
    return "\n".join(line for _, line in numbered_lines(path))


def _decode(path: Path, number: int, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(path, "UTF-8 text", raw[error.start : error.start + 10], number) from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path to write to; it replaces ``path``, flushed to disk, if the block succeeds.

    Readers see the old file or the new one, never a part, even after a crash. The temporary name
    ends as ``path`` does, since some writers choose a format by the suffix.
    """
    part = path.with_name(f".{os.getpid()}-{threading.get_native_id()}.{path.name}")
    try:
        yield part
        with part.open("rb") as stream:
            os.fsync(stream.fileno())  # a rename may reach the disk before the content does
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write or replace a file as a whole; see :func:`replacing`."""
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
        """The process that holds the lock, for messages."""
        try:
            number = self.path.read_text().strip()
        except OSError:
            number = ""
        return f"process {number}" if number.isdecimal() else "another process"

    def refusal(self, what: str) -> AskonceError:
        """The error after :meth:`acquire` returned False."""
        return AskonceError(
            f"{what} belong to {self.holder()}, or {str(self.path.parent)!r} cannot be written; "
            "stop that process or repair the folder"
        )

    def release(self) -> None:
        """Let another process take the lock."""
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
