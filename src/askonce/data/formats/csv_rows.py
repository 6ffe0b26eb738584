"""The rows of a table whose columns may have any names."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from askonce.data.forums import Damaged, Source
from askonce.data.forums.source import LONGEST_RECORD, Stream
from askonce.errors import AskonceError, ConfigError, DataError
from askonce.registry import nearest

# What a column is most often called; compared in small letters, without signs between words.
FIELDS: dict[str, tuple[str, ...]] = {
    "id": ("id", "postid", "questionid", "qid", "number"),
    "kind": ("kind", "posttypeid", "posttype", "type"),
    "parent": ("parent", "parentid", "inreplyto", "answerto"),
    "title": ("title", "question", "questiontitle", "subject", "summary"),
    "body": ("body", "text", "content", "questionbody", "description", "message", "html"),
    "answer": ("answer", "answerbody", "answertext", "reply", "response", "solution"),
    "score": ("score", "votes", "upvotes", "points"),
    "accepted": ("accepted", "isaccepted"),
    "accepted_answer": ("acceptedanswerid", "acceptedanswer", "bestanswerid", "bestanswer"),
    "tags": ("tags", "tag", "labels", "categories", "category", "topic"),
    "created": ("created", "creationdate", "createdat", "createddate", "date", "timestamp"),
    "duplicate_of": ("duplicateof", "duplicateofid", "closedasduplicateof"),
}


@dataclass(frozen=True)
class CsvRow:
    """The fields of one row that have a column."""

    name: Path
    line: int
    values: Mapping[str, str]

    def get(self, field: str) -> str:
        """What a field holds, without spaces around it; nothing where it has no column."""
        return self.values.get(field, "").strip()

    def wrong(self, expected: str, found: object) -> DataError:
        """An error that names the row."""
        return DataError(self.name, expected, found, self.line)


def csv_header(source: Source, path: Path) -> list[str]:
    """The names of the columns."""
    with source.open(path) as stream:
        first = next(_records(stream), None)
        if first is None:
            raise DataError(stream.name, "a header", stream.flaw or "an empty file")
        if isinstance(first, Damaged):
            raise DataError(stream.name, "a header", str(first))
        return [_on_one_line(name) for name in first[1]]


def csv_rows(source: Source, path: Path, columns: Mapping[str, int]) -> Iterator[CsvRow | Damaged]:
    """The rows after the header; what cannot be read comes as Damaged."""
    width = 0
    with source.open(path) as stream:
        for record in _records(stream):
            if isinstance(record, Damaged):
                yield record
                continue
            line, fields = record
            if not width:  # the header
                width = len(fields)
                continue
            try:
                _check(stream.name, line, fields, width)
            except DataError as error:
                yield Damaged.of(error)
            else:
                values = {field: fields[place] for field, place in columns.items()}
                yield CsvRow(stream.name, line, values)
        if stream.flaw:
            yield Damaged(str(stream.name), stream.flaw)


def find_columns(path: Path, header: Sequence[str], wanted: Mapping[str, str]) -> dict[str, int]:
    """The place of each field's column: as it is wanted, else by a usual name."""
    places = {_plain(name): place for place, name in reversed(list(enumerate(header)))}
    found: dict[str, int] = {}
    for field, column in wanted.items():
        if field not in FIELDS:
            raise ConfigError(f"no field is called {field!r}; {nearest(field, FIELDS)}")
        if _plain(column) not in places:
            raise ConfigError(f"{path.name} has no column {column!r}; {nearest(column, header)}")
        found[field] = places[_plain(column)]
    for field, names in FIELDS.items():
        free = (places[name] for name in names if name in places)
        place = next((place for place in free if place not in found.values()), None)
        if field not in found and place is not None:
            found[field] = place
    if not {"title", "body"} & found.keys():
        raise AskonceError(
            f"{path.name} has no column for the title or body among {', '.join(header)[:200]}; "
            f"name one, such as --columns title={header[0][:50]}"
        )
    return found


def _records(stream: Stream) -> Iterator[tuple[int, list[str]] | Damaged]:
    """The fields of each row that is not blank, with the line on which it starts."""
    csv.field_size_limit(LONGEST_RECORD)  # the module's own limit is less than a long post
    # a byte that is no UTF-8 becomes half a surrogate pair, which _check finds
    lines = (raw.decode("utf-8", "surrogateescape") for raw in stream.lines())
    first = next(lines, "").removeprefix("\ufeff")
    reader = csv.reader(
        chain([first] if first else [], lines), delimiter=max(",;\t", key=first.count), strict=True
    )
    while True:
        start = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            expected = "expected a well-formed row"
            yield Damaged(f"{stream.name}, line {start}", f"{expected}, found {error}")
            continue
        if fields is None:
            return
        if any(fields):
            yield start, fields


def _check(name: Path, line: int, fields: Sequence[str], width: int) -> None:
    if len(fields) != width:
        raise DataError(name, f"{width} columns", len(fields), line)
    for text in fields:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raw = text[error.start : error.start + 10].encode("utf-8", "surrogateescape")
            raise DataError(name, "UTF-8 text", raw, line) from None


def _on_one_line(name: str) -> str:
    """A column's name as a message shows it; only its letters and digits tell it from others."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
