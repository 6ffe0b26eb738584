"""Read text files of any origin, plain or gzipped; errors name the file and the line."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from askonce.errors import AskonceError, DataError


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
    number = 0
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
        try:
            for number, raw in enumerate(stream, start=1):
                yield number, _decode(path, number, raw).rstrip("\r\n")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(path, "a whole gzip file", str(error), number + 1) from None
    if number == 0:
        raise DataError(path, "at least one line", "an empty file")


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
