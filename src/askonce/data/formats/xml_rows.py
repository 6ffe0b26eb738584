"""The ``<row …/>`` elements of an XML table, one chunk of the file in memory.

A file that declares a document type is refused at once, since entities are what makes XML
dangerous. After malformed XML reading goes on at the next row.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from askonce.data.forums import Damaged
from askonce.data.forums.source import LONGEST_RECORD, Stream, refuse_gap
from askonce.errors import DataError

ROW = b"<row "
_DEEPEST = 10


class Row(NamedTuple):
    """One element: its line and its attributes."""

    line: int
    values: dict[str, str]


def xml_rows(stream: Stream) -> Iterator[Row | Damaged]:
    """All rows; what cannot be read comes as Damaged, a file cut in the middle among it."""
    parser = _Parser(stream.name)
    for chunk in stream.chunks():
        yield from parser.feed(chunk)
    if stream.flaw is None:
        yield from parser.feed(b"", last=True)
    else:
        yield Damaged(f"{stream.name}, line {parser.line}", stream.flaw)


class _Parser:
    def __init__(self, name: Path) -> None:
        self.name = name
        self._root: str | None = None
        self._found: list[Row | Damaged] = []
        self._lines = 0  # in the chunks that were fed
        self._lost = False  # after malformed XML, until the next row
        self._gap = 0  # bytes since the last row
        self._start(skipped_lines=0)

    @property
    def line(self) -> int:
        """Where the parser is in the file."""
        return self._skipped_lines + self._expat.CurrentLineNumber

    def feed(self, data: bytes, last: bool = False) -> list[Row | Damaged]:
        """Read on; the rows that were completed."""
        self._found = []
        place: int | None = self._next_row(data, 0) if self._lost else 0
        while place is not None:
            place = self._parse(data, place, last)
        self._lines += data.count(b"\n")
        self._gap = self._gap + len(data) if not self._found else 0
        refuse_gap(self.name, self._gap)
        return self._found

    def _parse(self, data: bytes, place: int, last: bool) -> int | None:
        """Read from a place in the data; where to start over, or None when all is read."""
        try:
            self._expat.Parse(memoryview(data)[place:], last)
        except (LookupError, ValueError) as error:  # what Python says of the file's encoding
            raise DataError(self.name, "XML in UTF-8", str(error)) from None
        except expat.ExpatError as error:
            self._found.append(self._damaged(_reason(error, last)))
            bad = self._expat.ErrorByteIndex - self._fed  # may lie before this data
            return self._next_row(data, max(place, place + bad + 1))
        self._fed += len(data) - place
        if self._fed - self._expat.CurrentByteIndex > LONGEST_RECORD:
            limit = f"elements of at most {LONGEST_RECORD:,} bytes"
            self._found.append(self._damaged(f"expected {limit}, found a longer one"))
            return self._next_row(data, len(data))
        return None

    def _next_row(self, data: bytes, place: int) -> int | None:
        start = data.find(ROW, place)
        self._lost = start < 0
        if self._lost:
            return None
        self._start(self._lines + data.count(b"\n", 0, start))
        opening = f"<{self._root or 'rows'}>".encode()
        self._expat.Parse(opening, False)
        self._fed = len(opening)
        return start

    def _start(self, skipped_lines: int) -> None:
        self._skipped_lines, self._fed, self._depth = skipped_lines, 0, 0
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._open
        parser.EndElementHandler = self._close
        parser.StartDoctypeDeclHandler = self._refuse
        self._expat: expat.XMLParserType = parser

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "row":
            self._found.append(Row(self.line, attributes))
        elif self._root is None:
            self._root = tag
        self._depth += 1
        if self._depth > _DEEPEST:
            raise DataError(self.name, "a table of rows", f"{_DEEPEST} nested elements", self.line)

    def _close(self, _: str) -> None:
        self._depth -= 1

    def _refuse(self, name: str, *_: object) -> NoReturn:
        raise DataError(self.name, "no document type, which may hide entities", name, self.line)

    def _damaged(self, what: str) -> Damaged:
        return Damaged(f"{self.name}, line {self.line}", what)


def _reason(error: expat.ExpatError, last: bool) -> str:
    if last:
        return "expected the whole file, found that it ends in the middle"
    return f"expected well-formed XML, found {expat.errors.messages[error.code]}"
