"""Stack Exchange: the site's own dumps, as archive.org has them."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from askonce.data.formats.xml_rows import ROW, xml_rows
from askonce.data.forums import IMPORTERS, Damaged, Record, Source
from askonce.data.forums.formatted import two_forms
from askonce.data.forums.seven_zip import members, unpack
from askonce.data.forums.source import refuse_gap
from askonce.errors import AskonceError, DataError
from askonce.files import find
from askonce.text.leaks import strip_notices
from askonce.types import Link, LinkKind, Post, PostKind

_WHAT = "a folder with Posts.xml, or a .7z dump"
_POST_KINDS: dict[str, PostKind] = {"1": "question", "2": "answer"}  # the rest are wikis and notes
_LINK_KINDS: dict[str, LinkKind] = {"1": "related", "3": "duplicate"}
_ACCEPTED = re.compile(rb"""AcceptedAnswerId=["']([0-9]+)["']""")
_TAG = re.compile(r"[^<>|\s]+")  # <a><b>, and |a|b| since 2024


class Tables(NamedTuple):
    """The files of a dump that count."""

    posts: Path
    links: Path | None


@IMPORTERS.add("stackexchange", "stack-exchange")
def read(source: Source) -> Iterator[Record]:
    """A Stack Exchange dump: Posts.xml and PostLinks.xml, plain, .gz or .7z, or the .7z of a site.

    Posts.xml is read twice, first for the ids of accepted answers, since an answer may stand
    before its question. A member of a .7z is unpacked to a temporary file.
    """
    with _tables(source) as (posts, links):
        source.expect(posts, posts, *([links] if links else []))
        accepted = _accepted(source, posts)
        yield from _records(source, posts, lambda row: _post(row, accepted, source.code))
        if links:
            yield from _records(source, links, link_of)


def link_of(row: "_Row") -> Link | None:
    """The link of a row of PostLinks.xml; None for kinds that say nothing about questions."""
    kind = _LINK_KINDS.get(row.text("LinkTypeId"))
    return Link(row.number("PostId"), row.number("RelatedPostId"), kind) if kind else None


class _Row(NamedTuple):
    """Attributes that must be as they should."""

    name: Path
    line: int
    values: dict[str, str]

    def text(self, key: str) -> str:
        if key not in self.values:
            raise DataError(self.name, f"a row with {key}", "none", self.line)
        return self.values[key]

    def number(self, key: str) -> str:
        text = self.text(key)
        if not (text.isascii() and text.isdigit()):
            raise DataError(self.name, f"{key}: a number", text, self.line)
        return text

    def score(self) -> int | None:
        text = self.values.get("Score")
        try:
            return None if text is None else int(text)
        except ValueError:
            raise DataError(self.name, "Score: a whole number", text, self.line) from None

    def date(self) -> str | None:
        text = self.values.get("CreationDate")
        try:
            if text is not None:
                datetime.fromisoformat(text)
        except ValueError:
            raise DataError(self.name, "CreationDate: a date", text, self.line) from None
        return text


def _records(
    source: Source, path: Path, record_of: Callable[[_Row], Post | Link | None]
) -> Iterator[Record]:
    with source.open(path) as stream:
        for row in xml_rows(stream):
            if isinstance(row, Damaged):
                yield row
                continue
            try:
                record = record_of(_Row(stream.name, *row))
            except DataError as error:
                yield Damaged.of(error)
            else:
                if record is not None:
                    yield record


def _post(row: _Row, accepted: set[str], code: bool) -> Post | None:
    kind = _POST_KINDS.get(row.text("PostTypeId"))
    if kind is None:
        return None
    number = row.number("Id")
    body, html = two_forms(row.text("Body"), code)
    return Post(
        id=number,
        title=strip_notices(row.text("Title")) if kind == "question" else "",
        body=body,
        kind=kind,
        parent=row.number("ParentId") if kind == "answer" else None,
        score=row.score(),
        accepted=kind == "answer" and number in accepted,
        tags=tuple(_TAG.findall(row.values.get("Tags", ""))),
        created=row.date(),
        html=html,
    )


def _accepted(source: Source, posts: Path) -> set[str]:
    """The ids of accepted answers, which may come before or after their questions."""
    # not parsed, which is dear; no text looks so, since quotes are escaped inside an attribute
    accepted: set[str] = set()
    gap = 0  # bytes since the last row
    with source.open(posts) as stream:
        for chunk in stream.chunks():
            accepted.update(found.decode() for found in _ACCEPTED.findall(chunk))
            gap = 0 if ROW in chunk else gap + len(chunk)
            refuse_gap(stream.name, gap)
    return accepted


@contextmanager
def _tables(source: Source) -> Iterator[Tables]:
    """The files to read, where needed unpacked for as long as they are read."""
    place = source.need_place(_WHAT)
    with TemporaryDirectory(prefix="askonce-") as temporary:
        posts = _table(source, place, "Posts.xml", Path(temporary))
        if posts is None:
            raise AskonceError(f"no Posts.xml, .gz or .7z in {str(place)!r}; expected {_WHAT}")
        yield Tables(posts, _table(source, place, "PostLinks.xml", Path(temporary)))


def _table(source: Source, place: Path, name: str, temporary: Path) -> Path | None:
    folder = place if place.is_dir() else place.parent
    packed = sorted(folder.glob("*.7z")) if place.is_dir() else [place]
    if place.suffix != ".7z" and (path := find(folder, name)):
        return path
    for archive in packed:
        if archive.suffix != ".7z":
            continue
        inside = next((each for each in members(archive) if Path(each).name == name), None)
        if inside is not None:
            return unpack(source, archive, inside, temporary)
    return None
