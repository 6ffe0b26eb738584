"""Rows of quoted tables, with the lines on which they start."""

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from askonce.errors import DataError
from askonce.files import numbered_lines


def csv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The fields of each row; tabs separate them where the first line has tabs, else commas.

    A quoted field may hold line ends. Blank lines are passed over.
    """
    lines = (line + "\n" for _, line in numbered_lines(path))
    first = next(lines)
    delimiter = "\t" if "\t" in first else ","
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    start = 1
    try:
        for record in reader:
            if record:
                yield start, record
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(path, "a well-formed row", str(error), start) from None
