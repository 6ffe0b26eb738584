"""CSV with a header: a row per post, or a row per question with its answer."""

import html as entities
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from askonce.data.formats.csv_rows import CsvRow, csv_header, csv_rows, find_columns
from askonce.data.forums import IMPORTERS, Damaged, Record, Source
from askonce.data.forums.formatted import is_html, two_forms
from askonce.errors import DataError
from askonce.text.leaks import strip_notices
from askonce.types import Link, Post, PostKind

_KINDS: dict[str, PostKind] = {"1": "question", "2": "answer"}
_KINDS |= {"question": "question", "q": "question", "answer": "answer", "a": "answer"}
_TRUTHS = {"1": True, "true": True, "yes": True, "y": True, "t": True}
_TRUTHS |= {"": False, "0": False, "false": False, "no": False, "n": False, "f": False}
_ESCAPED_TAG = re.compile(r"&lt;(?:p|a|pre|code|div|ul|ol|blockquote|br|strong|em)\b")
_ESCAPED_TAGS = re.compile(r"(?:&lt;[^\s&]+&gt;)+")  # &lt;a&gt;&lt;b&gt; in the column of tags


@IMPORTERS.add("csv", "tsv")
def read(source: Source) -> Iterator[Record]:
    """A table with a header, .gz or not, separated by commas, semicolons or tabs.

    Each row is a post (answers name their question as ``parent``), or a question with its
    ``answer``. Columns are found by their usual names or by ``columns``. Rows without an id are
    numbered. HTML is recognised, escaped HTML too. A date that is not ISO 8601 is left out.
    """
    path = source.need_file("a CSV file")
    columns = find_columns(path, csv_header(source, path), source.columns)
    twice = "accepted_answer" in columns
    source.expect(path, *([path] if twice else []))
    accepted = _accepted(source, path, columns) if twice else set()
    for row in csv_rows(source, path, columns):
        if isinstance(row, Damaged):
            yield row
            continue
        try:
            yield from _posts(row, accepted, source.code)
        except DataError as error:
            yield Damaged.of(error)


def _posts(row: CsvRow, accepted: set[str], code: bool) -> list[Post | Link]:
    row = _unescaped(row)
    kind = _kind(row)
    if kind is None:
        return []
    name = row.get("id") or f"{kind[0]}-{row.line}"
    body, html = _body(row.values.get("body", ""), code)
    post = Post(
        id=name,
        title=strip_notices(row.get("title")).strip(),
        body=body,
        kind=kind,
        parent=(row.get("parent") or None) if kind == "answer" else None,
        score=_score(row),
        accepted=kind == "answer" and (name in accepted or _mark(row)),
        tags=_tags(row.get("tags")),
        created=_date(row.get("created")),
        html=html,
    )
    found: list[Post | Link] = [post]
    if kind == "question" and row.get("answer"):
        body, html = _body(row.values["answer"], code)
        answer = f"{row.get('id')}-answer" if row.get("id") else f"a-{row.line}"
        right = "accepted" not in row.values or _mark(row)
        found.append(Post(answer, body=body, kind="answer", parent=name, accepted=right, html=html))
    if kind == "question" and row.get("duplicate_of"):
        found.append(Link(name, row.get("duplicate_of")))
    return found


def _kind(row: CsvRow) -> PostKind | None:
    """What a row is; None for other kinds of posts that a forum numbers, such as wikis."""
    value = row.get("kind").lower()
    if not value:
        return "answer" if row.get("parent") else "question"
    if value not in _KINDS and not value.isdigit():
        raise row.wrong("a kind question or answer", value)
    return _KINDS.get(value)


def _unescaped(row: CsvRow) -> CsvRow:
    """A row whose HTML was escaped once more, as in tables made from XML, as it was before."""
    body = row.values.get("body", "")
    escaped = "<" not in body and _ESCAPED_TAG.search(body)
    if escaped or _ESCAPED_TAGS.fullmatch(row.get("tags")):
        try:
            plain = {name: entities.unescape(value) for name, value in row.values.items()}
        except ValueError as error:  # a character number of thousands of digits
            raise row.wrong("HTML", str(error)) from None
        return CsvRow(row.name, row.line, plain)
    return row


def _body(text: str, code: bool) -> tuple[str, str]:
    return two_forms(text, code) if is_html(text) else (strip_notices(text).strip(), "")


def _score(row: CsvRow) -> int | None:
    value = row.get("score")
    try:
        return int(value) if value else None
    except ValueError:
        raise row.wrong("a score that is a whole number", value) from None


def _mark(row: CsvRow) -> bool:
    value = row.get("accepted").lower()
    if value not in _TRUTHS:
        raise row.wrong("accepted: true or false", value)
    return _TRUTHS[value]


def _tags(text: str) -> tuple[str, ...]:
    """Tags as forums write them: <a><b>, |a|b|, or separated by commas or semicolons."""
    parts = re.split(r"[<>|]+" if text[:1] in ("<", "|") else r"[,;]", text)
    return tuple(filter(None, map(str.strip, parts)))


def _date(text: str) -> str | None:
    try:
        return text if text and datetime.fromisoformat(text) else None
    except ValueError:
        return None


def _accepted(source: Source, path: Path, columns: Mapping[str, int]) -> set[str]:
    """The answers that some question names as accepted; they may stand before it."""
    rows = csv_rows(source, path, columns)
    return {row.get("accepted_answer") for row in rows if isinstance(row, CsvRow)} - {""}
