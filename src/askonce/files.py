"""Read text files of any origin, plain or gzipped; errors name the file and the line."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from askonce.errors import AskonceError, DataError

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
