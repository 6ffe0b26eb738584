"""XML, read without trusting it: tables of ``<row …/>`` as a stream, and small files as a tree."""

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from askonce.data.formats import Record
from askonce.errors import DataError
from askonce.files import LONGEST_RECORD, Stream, refuse_gap, whole_text

ROW = b"<row "
_MAX_DEPTH = 10
_LINE = "{askonce}line"  # no attribute in a file can have a name in braces


def xml_rows(stream: Stream) -> Iterator[Record | DataError]:
    """The attributes of every ``<row …/>`` of a table, with one chunk of the file in memory.

    After malformed XML, reading continues at the next row. A file that declares a document type is
    refused, since entities can expand without bound.
    """
    parser = _RowParser(stream.name)
    for chunk in stream.chunks():
        yield from parser.feed(chunk)
    flaws = list(stream.flaws(parser.line))
    yield from flaws or parser.feed(b"", last=True)


class _RowParser:
    def __init__(self, name: Path) -> None:
        self.name = name
        self._root: str | None = None
        self._rows: list[Record | DataError] = []  # of the chunk being fed
        self._lines = 0  # in the chunks that were fed before
        self._lost = False  # after malformed XML, until the next row
        self._gap = 0  # bytes since the last row
        self._start(skipped_lines=0)

    @property
    def line(self) -> int:
        """The line of the file that the parser has reached."""
        return self._skipped_lines + self._expat.CurrentLineNumber

    def feed(self, data: bytes, last: bool = False) -> list[Record | DataError]:
        """Parse more data; return the rows that it completes."""
        self._rows = []
        offset: int | None = self._next_row(data, 0) if self._lost else 0
        while offset is not None:
            offset = self._parse(data, offset, last)
        self._lines += data.count(b"\n")
        self._gap = self._gap + len(data) if not self._rows else 0
        refuse_gap(self.name, self._gap)
        return self._rows

    def _parse(self, data: bytes, offset: int, last: bool) -> int | None:
        """Parse from an offset; return the offset to restart at, or None at the end."""
        try:
            self._expat.Parse(memoryview(data)[offset:], last)
        except (LookupError, ValueError) as error:  # from Python, about the declared encoding
            raise DataError(self.name, "XML in UTF-8", str(error)) from None
        except expat.ExpatError as error:
            reason = ("the whole file", "its end in the middle") if last else _reason(error)
            self._rows.append(DataError(self.name, *reason, self.line))
            bad = self._expat.ErrorByteIndex - self._fed  # may lie before this data
            return self._next_row(data, max(offset, offset + bad + 1))
        self._fed += len(data) - offset
        if self._fed - self._expat.CurrentByteIndex > LONGEST_RECORD:
            limit = f"elements of at most {LONGEST_RECORD:,} bytes"
            self._rows.append(DataError(self.name, limit, "a longer one", self.line))
            return self._next_row(data, len(data))
        return None

    def _next_row(self, data: bytes, offset: int) -> int | None:
        start = data.find(ROW, offset)
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
            self._rows.append(Record(self.name, self.line, attributes))
        elif self._root is None:
            self._root = tag
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            actual = f"{_MAX_DEPTH} nested elements"
            raise DataError(self.name, "a table of rows", actual, self.line)

    def _close(self, _: str) -> None:
        self._depth -= 1

    def _refuse(self, name: str, *_: object) -> NoReturn:
        raise DataError(self.name, "no document type, which may hide entities", name, self.line)


def _reason(error: expat.ExpatError) -> tuple[str, str]:
    return "well-formed XML", expat.errors.messages[error.code]


def parse_xml(path: Path) -> Element:
    """The root element; each element knows its line, see :func:`line_of`."""
    builder = TreeBuilder()
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        builder.start(tag, {**attributes, _LINE: str(parser.CurrentLineNumber)})

    # A DTD may describe elements, as SemEval's does; but entities can expand without bound.
    def refuse(name: str, *_: object) -> NoReturn:
        raise DataError(path, "no entity declarations", name, parser.CurrentLineNumber)

    parser.StartElementHandler = start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(whole_text(path), True)
    except expat.ExpatError as error:
        raise DataError(path, *_reason(error), error.lineno) from None
    return builder.close()


def line_of(element: Element) -> int:
    return int(element.attrib[_LINE])


def attribute(path: Path, element: Element, name: str) -> str:
    value = element.get(name)
    if value is None:
        raise DataError(
            path, f"an attribute {name!r}", f"<{element.tag}> without it", line_of(element)
        )
    return value


def child(path: Path, element: Element, tag: str) -> Element:
    """The first child with this tag, which is required."""
    first = element.find(tag)
    if first is None:
        raise DataError(path, f"<{tag}>", f"<{element.tag}> without it", line_of(element))
    return first


def child_text(path: Path, element: Element, tag: str) -> str:
    """The text of a required child; an empty element has an empty text."""
    return child(path, element, tag).text or ""
