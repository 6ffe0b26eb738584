"""CSV with a header: a row per post, or a row per question with its answer."""

import html as entities
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from askonce.data import formats
from askonce.data.formats.csv import csv_rows, find_columns
from askonce.data.formats.posts import plain_or_html
from askonce.data.formats.sources import display_name, web_address
from askonce.data.forums import IMPORTERS, Imported, Source, converted, host_of, iso_date
from askonce.data.forums.stackexchange import Addresses, addresses
from askonce.errors import AskonceError, DataError
from askonce.files import raise_errors
from askonce.text.leaks import strip_notices
from askonce.types import Link, Origin, Post, PostKind

# Usual column names; compared in lower case, letters and digits only.
_FIELDS: dict[str, tuple[str, ...]] = {
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
    "url": ("url", "link", "permalink", "posturl", "address"),
    "author": (
        *("author", "authorname", "user", "username", "displayname", "ownerdisplayname"),
        *("owner", "from"),
    ),
    "owner": ("owneruserid",),  # of Stack Exchange
    "author_url": ("authorurl", "authorlink", "userurl", "profileurl"),
    "site": ("site", "sitename", "forum", "source"),
    "licence": ("licence", "license", "contentlicense"),
    "duplicate_of": ("duplicateof", "duplicateofid", "closedasduplicateof"),
}
_KINDS: dict[str, PostKind] = {"1": "question", "2": "answer"}
_KINDS |= {"question": "question", "q": "question", "answer": "answer", "a": "answer"}
_TRUTHS = {"1": True, "true": True, "yes": True, "y": True, "t": True}
_TRUTHS |= {"": False, "0": False, "false": False, "no": False, "n": False, "f": False}
_ESCAPED_TAG = re.compile(r"&lt;(?:p|a|pre|code|div|ul|ol|blockquote|br|strong|em)\b")
_ESCAPED_TAGS = re.compile(r"(?:&lt;[^\s&]+&gt;)+")  # such as &lt;a&gt;&lt;b&gt;


@IMPORTERS.add("csv", "tsv")
def read(source: Source) -> Iterator[Imported]:
    """A table with a header, .gz or not, separated by commas, semicolons or tabs.

    Each row is a post (answers name their question as ``parent``), or a question with its
    ``answer``. Columns are found by their usual names or by ``columns``. Rows without an id are
    numbered. HTML is recognised, also if escaped. A date that is not ISO 8601 is left out. With the
    columns of Stack Exchange (its Data Explorer) and a ``site``, posts get their addresses.
    """
    path = source.need_file("a CSV file")
    columns = _columns(source, path)
    is_read_twice = "accepted_answer" in columns
    source.expect(path, *([path] if is_read_twice else []))
    accepted = _accepted(source, path, columns) if is_read_twice else set()
    yield from converted(
        _rows(source, path, columns), lambda row: _posts(row, accepted, source.code, source.site)
    )


def _columns(source: Source, path: Path) -> dict[str, int]:
    with source.open(path) as stream:
        _, header = next(raise_errors(csv_rows(stream)), (1, [""]))
    header = [display_name(name) or "" for name in header]  # as error messages show them
    columns = find_columns(path, header, _FIELDS, source.columns)
    if not {"title", "body"} & columns.keys():
        raise AskonceError(
            f"{path.name} has no column for the title or body among {', '.join(header)[:200]}; "
            f"name one, such as --columns title={header[0][:50]}"
        )
    return columns


def _rows(
    source: Source, path: Path, columns: Mapping[str, int]
) -> Iterator[formats.Record | DataError]:
    """The rows after the header as named values."""
    with source.open(path) as stream:
        rows = csv_rows(stream)
        next(rows)
        for row in rows:
            if isinstance(row, DataError):
                yield row
            else:
                values = {field: row[1][index] for field, index in columns.items()}
                yield formats.Record(stream.name, row[0], values)


def _accepted(source: Source, path: Path, columns: Mapping[str, int]) -> set[str]:
    """The answers that a question names as accepted; they may come before it."""
    rows = _rows(source, path, columns)
    return {row.get("accepted_answer") for row in rows if isinstance(row, formats.Record)} - {""}


def _posts(
    row: formats.Record, accepted: set[str], code: bool, site: str | None
) -> list[Post | Link]:
    row = _unescaped(row)
    kind = _kind(row)
    if kind is None:
        return []
    post_id = row.get("id") or f"{kind[0]}-{row.line}"
    body, html = plain_or_html(row.values.get("body", ""), code)
    post = Post(
        id=post_id,
        title=strip_notices(row.get("title")).strip(),
        body=body,
        kind=kind,
        parent=(row.get("parent") or None) if kind == "answer" else None,
        score=row.integer("score"),
        accepted=kind == "answer" and (post_id in accepted or _is_accepted(row)),
        tags=_tags(row.get("tags")),
        created=iso_date(row.get("created")),
        html=html,
        **_source(row, kind, site),
    )
    records: list[Post | Link] = [post]
    if kind == "question" and row.get("answer"):
        body, html = plain_or_html(row.values["answer"], code)
        answer = f"{row.get('id')}-answer" if row.get("id") else f"a-{row.line}"
        is_accepted = "accepted" not in row.values or _is_accepted(row)
        records.append(
            Post(
                answer,
                body=body,
                kind="answer",
                parent=post_id,
                accepted=is_accepted,
                html=html,
                url=post.url,
                site=post.site,
                licence=post.licence,
            )
        )
    if kind == "question" and row.get("duplicate_of"):
        records.append(Link(post_id, row.get("duplicate_of")))
    return records


def _source(row: formats.Record, kind: PostKind, site: str | None) -> Origin:
    shown = Addresses(
        url=web_address(row.get("url")), author_url=web_address(row.get("author_url"))
    )
    if "owner" in row.values and row.get("id").isdecimal() and not shown["url"]:
        host = host_of(site and (web_address(site) or f"https://{site}"))
        shown = addresses(host, kind, row.get("id"), row.get("owner"))
    return Origin(
        **shown,
        author=display_name(row.get("author")),
        site=display_name(row.get("site")) or display_name(site),
        licence=display_name(row.get("licence")),
    )


def _kind(row: formats.Record) -> PostKind | None:
    """The kind of a row; None for a forum's other numbered kinds, such as wikis."""
    value = row.get("kind").lower()
    if not value:
        return "answer" if row.get("parent") else "question"
    if value not in _KINDS and not value.isdigit():
        raise row.error("a kind question or answer", value)
    return _KINDS.get(value)


def _unescaped(row: formats.Record) -> formats.Record:
    """Undo a second escaping of HTML, as in tables made from XML."""
    body = row.values.get("body", "")
    escaped = "<" not in body and _ESCAPED_TAG.search(body)
    if escaped or _ESCAPED_TAGS.fullmatch(row.get("tags")):
        try:
            plain = {name: entities.unescape(value) for name, value in row.values.items()}
        except ValueError as error:  # a character number of thousands of digits
            raise row.error("HTML", str(error)) from None
        return replace(row, values=plain)
    return row


def _is_accepted(row: formats.Record) -> bool:
    value = row.get("accepted").lower()
    if value not in _TRUTHS:
        raise row.error("accepted: true or false", value)
    return _TRUTHS[value]


def _tags(text: str) -> tuple[str, ...]:
    """Tags as forums write them: <a><b>, |a|b|, or separated by commas or semicolons."""
    parts = re.split(r"[<>|]+" if text[:1] in ("<", "|") else r"[,;]", text)
    return tuple(filter(None, map(str.strip, parts)))
