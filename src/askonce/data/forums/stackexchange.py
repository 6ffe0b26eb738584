"""Stack Exchange: the site's own dumps, as archive.org has them."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from askonce.data import formats
from askonce.data.formats.posts import text_and_html
from askonce.data.formats.xml import ROW, xml_rows
from askonce.data.forums import IMPORTERS, Record, Source, converted
from askonce.data.forums.seven_zip import members, unpack
from askonce.errors import AskonceError
from askonce.files import find, refuse_gap
from askonce.text.leaks import strip_notices
from askonce.types import Link, LinkKind, Post, PostKind

_WHAT = "a folder with Posts.xml, or a .7z dump"
_POST_KINDS: dict[str, PostKind] = {"1": "question", "2": "answer"}  # others are wikis and notices
_LINK_KINDS: dict[str, LinkKind] = {"1": "related", "3": "duplicate"}
_ACCEPTED = re.compile(rb"""AcceptedAnswerId=["']([0-9]+)["']""")
_TAG = re.compile(r"[^<>|\s]+")  # <a><b>, and |a|b| since 2024


class Tables(NamedTuple):
    posts: Path
    links: Path | None


@IMPORTERS.add("stackexchange", "stack-exchange")
def read(source: Source) -> Iterator[Record]:
    """A Stack Exchange dump: Posts.xml and PostLinks.xml, plain, .gz or .7z, or the .7z of a site.

    Posts.xml is read twice, first for the ids of accepted answers, since an answer may come
    before its question. A member of a .7z is unpacked to a temporary file.
    """
    with _tables(source) as (posts, links):
        source.expect(posts, posts, *([links] if links else []))
        accepted = _accepted(source, posts)
        yield from _records(source, posts, lambda row: _post(row, accepted, source.code))
        if links:
            yield from _records(source, links, link_of)


def link_of(row: formats.Record) -> list[Link]:
    """The link of a row of PostLinks.xml; none for kinds that say nothing about questions."""
    kind = _LINK_KINDS.get(_text(row, "LinkTypeId"))
    return [Link(_number(row, "PostId"), _number(row, "RelatedPostId"), kind)] if kind else []


def _records(
    source: Source, path: Path, convert: Callable[[formats.Record], Sequence[Post | Link]]
) -> Iterator[Record]:
    with source.open(path) as stream:
        yield from converted(xml_rows(stream), convert)


def _text(row: formats.Record, key: str) -> str:
    if key not in row.values:
        raise row.error(f"a row with {key}", "none")
    return str(row.values[key])


def _number(row: formats.Record, key: str) -> str:
    text = _text(row, key)
    if not (text.isascii() and text.isdigit()):
        raise row.error(f"{key}: a number", text)
    return text


def _score(row: formats.Record) -> int | None:
    text = row.values.get("Score")
    try:
        return None if text is None else int(text)
    except ValueError:
        raise row.error("Score: a whole number", text) from None


def _date(row: formats.Record) -> str | None:
    text = row.values.get("CreationDate")
    try:
        if text is not None:
            datetime.fromisoformat(text)
    except ValueError:
        raise row.error("CreationDate: a date", text) from None
    return text


def _post(row: formats.Record, accepted: set[str], code: bool) -> list[Post]:
    kind = _POST_KINDS.get(_text(row, "PostTypeId"))
    if kind is None:
        return []
    number = _number(row, "Id")
    body, html = text_and_html(_text(row, "Body"), code)
    post = Post(
        id=number,
        title=strip_notices(_text(row, "Title")) if kind == "question" else "",
        body=body,
        kind=kind,
        parent=_number(row, "ParentId") if kind == "answer" else None,
        score=_score(row),
        accepted=kind == "answer" and number in accepted,
        tags=tuple(_TAG.findall(row.values.get("Tags", ""))),
        created=_date(row),
        html=html,
    )
    return [post]


def _accepted(source: Source, posts: Path) -> set[str]:
    """The ids of accepted answers, which may come before or after their questions."""
    # not parsed, which is slow; texts cannot match, since quotes are escaped inside attributes
    accepted: set[str] = set()
    gap = 0  # bytes since the last row
    with source.open(posts) as stream:
        for chunk in stream.chunks():
            accepted.update(match.decode() for match in _ACCEPTED.findall(chunk))
            gap = 0 if ROW in chunk else gap + len(chunk)
            refuse_gap(stream.name, gap)
    return accepted


@contextmanager
def _tables(source: Source) -> Iterator[Tables]:
    """The files to read, unpacked where needed; temporary files are removed afterwards."""
    path = source.need_path(_WHAT)
    with TemporaryDirectory(prefix="askonce-") as temporary:
        posts = _table(source, path, "Posts.xml", Path(temporary))
        if posts is None:
            raise AskonceError(f"no Posts.xml, .gz or .7z in {str(path)!r}; expected {_WHAT}")
        yield Tables(posts, _table(source, path, "PostLinks.xml", Path(temporary)))


def _table(source: Source, path: Path, name: str, temporary: Path) -> Path | None:
    folder = path if path.is_dir() else path.parent
    packed = sorted(folder.glob("*.7z")) if path.is_dir() else [path]
    if path.suffix != ".7z" and (table := find(folder, name)):
        return table
    for archive in packed:
        if archive.suffix != ".7z":
            continue
        inside = next((each for each in members(archive) if Path(each).name == name), None)
        if inside is not None:
            return unpack(source, archive, inside, temporary)
    return None
