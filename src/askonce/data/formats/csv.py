"""CSV and TSV with a header."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from askonce.errors import ConfigError, DataError
from askonce.files import LONGEST_RECORD, Stream, open_stream, raise_errors
from askonce.registry import nearest

CsvRow = tuple[int, list[str]]  # the line on which a row starts, its fields


def csv_rows(stream: Stream) -> Iterator[CsvRow | DataError]:
    """The rows, header first; all must be as wide as the header. Blank rows are skipped.

    Fields are separated by whichever of comma, semicolon and tab is most frequent in the header.
    Quoted fields may contain line ends.
    """
    width = 0
    for row in _all_rows(stream):
        if isinstance(row, DataError):
            yield row
            continue
        line, fields = row
        width = width or len(fields)
        if len(fields) != width:
            yield DataError(stream.name, f"{width} columns", len(fields), line)
        elif bad := _undecodable(fields):
            yield DataError(stream.name, "UTF-8 text", bad, line)
        else:
            yield row


def read_csv(path: Path) -> tuple[list[str], Iterator[CsvRow]]:
    """Header and rows of a file that must be readable as a whole."""
    rows = _read(path)
    _, header = next(rows, (1, []))
    return header, rows


def _read(path: Path) -> Iterator[CsvRow]:
    with open_stream(path) as stream:
        yield from raise_errors(csv_rows(stream))


def find_columns(
    path: Path,
    header: Sequence[str],
    usual: Mapping[str, Sequence[str]],
    wanted: Mapping[str, str] | None = None,
) -> dict[str, int]:
    """The column of each field: the wanted one, else the first with a usual name.

    Names are compared in lower case, letters and digits only.
    """
    positions = {_plain(name): index for index, name in reversed(list(enumerate(header)))}
    columns: dict[str, int] = {}
    for field, column in (wanted or {}).items():
        if field not in usual:
            raise ConfigError(f"no field is called {field!r}; {nearest(field, usual)}")
        if _plain(column) not in positions:
            raise ConfigError(f"{path.name} has no column {column!r}; {nearest(column, header)}")
        columns[field] = positions[_plain(column)]
    for field, names in usual.items():
        known = (positions[_plain(name)] for name in names if _plain(name) in positions)
        index = next((index for index in known if index not in columns.values()), None)
        if field not in columns and index is not None:
            columns[field] = index
    return columns


def _all_rows(stream: Stream) -> Iterator[CsvRow | DataError]:
    csv.field_size_limit(LONGEST_RECORD)  # the module's own limit is shorter than a long post
    # a byte that is not UTF-8 becomes half a surrogate pair, which _undecodable finds
    lines = (raw.decode("utf-8", "surrogateescape") for raw in stream.lines())
    first = next(lines, None)
    if first is None:
        yield from stream.flaws(1)
        raise DataError(stream.name, "at least one line with a header", "an empty file")
    first = first.removeprefix("\ufeff")
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            yield DataError(stream.name, "a well-formed row", str(error), start)
            continue
        if any(fields):
            yield start, fields
    yield from stream.flaws(start)


def _undecodable(fields: Sequence[str]) -> bytes | None:
    for text in fields:
        try:
            text.isascii() or text.encode()
        except UnicodeEncodeError as error:
            return text[error.start : error.start + 10].encode("utf-8", "surrogateescape")
    return None


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
