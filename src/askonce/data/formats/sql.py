"""SQL dumps of MySQL and MariaDB: the rows of INSERT statements, as a stream."""

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

from askonce.data.formats import Record
from askonce.errors import DataError
from askonce.files import LONGEST_RECORD, Stream

_TOKEN = re.compile(
    r"--[^\n]*+\n|#[^\n]*+\n|/\*(?:[^*]|\*(?!/))*+\*/"
    r"|'(?:[^'\\]|\\.|'')*+'(?!')|\"(?:[^\"\\]|\\.|\"\")*+\"(?!\")|`[^`]*+`"
    r"|[(),;]|\s++|[^\s'\"`(),;]++",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)|''|\"\"", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "", "Z": "", "b": "\b"}
_SKIPPED = ("--", "#", "/*")


class _Token(NamedTuple):
    text: str
    line: int


SqlRow = tuple[str, Record]  # table, named values


def sql_rows(stream: Stream) -> Iterator[SqlRow | DataError]:
    """Table and named values of every row; NULL is None, numbers are texts.

    Columns come from the INSERT statement or from the CREATE TABLE before it. A row with another
    number of values, or of a table that was not described, is an error in its place.
    """
    columns: dict[str, list[str]] = {}
    statement: list[_Token] = []
    try:
        for token in _tokens(stream):
            if token.text == ";":
                yield from _finish(stream, statement, columns)
                statement = []
            elif token.text == ")" and _is_values(statement):
                yield from _row(stream, statement, columns)
            else:
                statement.append(token)
    except DataError as error:
        yield error
    yield from stream.flaws()


def _tokens(stream: Stream) -> Iterator[_Token]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest, line = "", 1
    chunks = stream.chunks()
    last = False
    while not last:
        chunk = next(chunks, b"")
        last = not chunk
        rest += decoder.decode(chunk, last)
        end = 0
        while match := _TOKEN.match(rest, end):
            if match.end() == len(rest) and not last:
                break  # it may go on in the next chunk
            text, end = match[0], match.end()
            if not text.isspace() and not text.startswith(_SKIPPED):
                yield _Token(text, line)
            line += text.count("\n")
        rest = rest[end:]
        if len(rest) > LONGEST_RECORD:
            limit = f"values of at most {LONGEST_RECORD:,} characters"
            raise DataError(stream.name, limit, "a longer one", line)
    if rest:
        raise DataError(stream.name, "a whole SQL dump", f"an end in {rest[:30]!r}", line)


def _is_values(statement: list[_Token]) -> bool:
    """Whether the statement is an INSERT that has come to its rows."""
    if not statement or statement[0].text.upper() not in ("INSERT", "REPLACE"):
        return False
    return any(token.text.upper() == "VALUES" for token in statement[:_MOST_WORDS])


_MOST_WORDS = 2000  # tokens of an INSERT before its rows


def _row(
    stream: Stream, statement: list[_Token], columns: dict[str, list[str]]
) -> Iterator[tuple[str, Record] | DataError]:
    """The row that has just been closed; it is removed from the statement."""
    start = next(n for n, t in enumerate(statement) if t.text.upper() == "VALUES")
    head, row = statement[: start + 1], statement[start + 1 :]
    del statement[start + 1 :]
    # INSERT INTO table (columns) VALUES
    words = [token.text for token in head[:-1] if token.text.upper() not in _KEYWORDS]
    table = _name(words[0]) if words else ""
    names = [_name(word) for word in words[1:] if word not in "(),"] or columns.get(table, [])
    line = row[0].line if row else head[0].line
    values = _values(row)
    if len(values) != len(names):
        expected = f"{len(names)} values for {table}" if names else f"the columns of {table}"
        yield DataError(stream.name, expected, f"{len(values)} values", line)
    else:
        yield table, Record(stream.name, line, dict(zip(names, values, strict=True)))


_KEYWORDS = ("INSERT", "REPLACE", "INTO", "IGNORE", "DELAYED")


def _name(word: str) -> str:
    return word.rpartition(".")[2].strip("`\"'")


def _values(row: list[_Token]) -> list[str | None]:
    values: list[str | None] = []
    for token in row:
        text = token.text
        if text in "(),":
            continue
        if text[0] in "'\"":
            plain = _ESCAPED.sub(
                lambda x: _ESCAPES.get(x[1], x[1]) if x[1] else x[0][0], text[1:-1]
            )
            values.append(plain)
        elif not text.startswith("_"):  # such as _binary before a text
            values.append(None if text.upper() == "NULL" else text)
    return values


def _finish(
    stream: Stream, statement: list[_Token], columns: dict[str, list[str]]
) -> Iterator[DataError]:
    """Learn the columns of a CREATE TABLE; a row that was not closed is an error."""
    words = [token.text for token in statement]
    if len(words) > 2 and words[0].upper() == "CREATE" and words[1].upper() == "TABLE":
        start = words.index("(") if "(" in words else len(words)
        columns[_name(words[start - 1])] = _columns(words[start + 1 :])
    elif _is_values(statement) and words[-1] not in (",", "VALUES", "values"):
        yield DataError(stream.name, "a closed row", " ".join(words[-3:]), statement[-1].line)


def _columns(words: list[str]) -> list[str]:
    """The names of columns: the quoted first word of each part of a CREATE TABLE."""
    names, depth, is_first = [], 0, True
    for word in words:
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
        elif is_first and depth == 0 and word[0] in '`"':
            names.append(_name(word))
        is_first = word == "," and depth == 0
    return names
