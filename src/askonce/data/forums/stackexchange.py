"""Stack Exchange: the site's own dumps, as archive.org has them."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypedDict

from askonce.data import formats
from askonce.data.formats.posts import text_and_html
from askonce.data.formats.sources import display_name
from askonce.data.formats.xml import ROW, xml_rows
from askonce.data.forums import IMPORTERS, Imported, Source, converted
from askonce.data.forums.seven_zip import members, unpack
from askonce.errors import AskonceError
from askonce.files import find, refuse_gap
from askonce.text.leaks import strip_notices
from askonce.types import Link, LinkKind, Origin, Post, PostKind

_WHAT = "a folder with Posts.xml, or a .7z dump"
_POST_KINDS: dict[str, PostKind] = {"1": "question", "2": "answer"}  # others are wikis and notices
_LINK_KINDS: dict[str, LinkKind] = {"1": "related", "3": "duplicate"}
_ACCEPTED = re.compile(rb"""AcceptedAnswerId=["']([0-9]+)["']""")
_OWNER = re.compile(rb"""OwnerUserId=["']([0-9]+)["']""")
_HOST = re.compile(r"(?:[a-z0-9-]+\.)+(?:com|net|org)(?=$|\.7z$|-Posts)", re.IGNORECASE)
_TAG = re.compile(r"[^<>|\s]+")  # <a><b>, and |a|b| since 2024


class _Source(NamedTuple):
    site: str | None
    names: dict[str, str]

    def of(self, row: formats.Record, kind: PostKind, number: str) -> Origin:
        owner = row.values.get("OwnerUserId", "")
        return Origin(
            **addresses(self.site, kind, number, owner),
            author=self.names.get(owner) or display_name(row.values.get("OwnerDisplayName")),
            site=self.site,
            licence=display_name(row.values.get("ContentLicense")),
        )


class Addresses(TypedDict):
    """The links that the licence's attribution asks for."""

    url: str | None
    author_url: str | None


def addresses(site: str | None, kind: PostKind, number: str, owner: str) -> Addresses:
    """Where a site shows a post and its author; nothing where the site is not known."""
    base = f"https://{site}" if site else None
    known = owner.isascii() and owner.isdigit()
    return Addresses(
        url=base and f"{base}/{'questions' if kind == 'question' else 'a'}/{number}",
        author_url=f"{base}/users/{owner}" if base and known else None,
    )


@IMPORTERS.add("stackexchange", "stack-exchange")
def read(source: Source) -> Iterator[Imported]:
    """A Stack Exchange dump: Posts.xml, PostLinks.xml and Users.xml, plain, .gz or the site's .7z.

    Posts.xml is read twice, first for the ids of accepted answers, since an answer may come
    before its question. A member of a .7z is unpacked to a temporary file. The site is known by
    the name of the dump, such as bicycles.stackexchange.com.7z, or by ``site``; links to posts
    and authors need it.
    """
    with _tables(source) as (posts, links, users):
        source.expect(posts, posts, *filter(None, (links, users)))
        accepted, owners = _accepted_and_owners(source, posts)
        names: dict[str, str] = {}
        if users:
            yield from _names(source, users, owners, names)
        origin = _Source(_site(source), names)
        yield from _records(source, posts, lambda row: _post(row, accepted, source.code, origin))
        if links:
            yield from _records(source, links, link_of)


def link_of(row: formats.Record) -> list[Link]:
    """The link of a row of PostLinks.xml; none for kinds that say nothing about questions."""
    kind = _LINK_KINDS.get(_text(row, "LinkTypeId"))
    return [Link(_number(row, "PostId"), _number(row, "RelatedPostId"), kind)] if kind else []


def _records(
    source: Source, path: Path, convert: Callable[[formats.Record], Sequence[Post | Link]]
) -> Iterator[Imported]:
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


def _date(row: formats.Record) -> str | None:
    text = row.values.get("CreationDate")
    try:
        if text is not None:
            datetime.fromisoformat(text)
    except ValueError:
        raise row.error("CreationDate: a date", text) from None
    return text


def _post(row: formats.Record, accepted: set[str], code: bool, origin: _Source) -> list[Post]:
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
        score=row.integer("Score"),
        accepted=kind == "answer" and number in accepted,
        tags=tuple(_TAG.findall(row.values.get("Tags", ""))),
        created=_date(row),
        html=html,
        **origin.of(row, kind, number),
    )
    return [post]


def _site(source: Source) -> str | None:
    """The host name of the site: as given, or from the name of the dump or of its folder."""
    if source.site:
        return source.site.removeprefix("https://").removeprefix("http://").strip("/")
    path = (source.path or Path()).resolve()
    for name in (path.name, path.parent.name):
        if match := _HOST.match(name):
            return match[0]
    return None


def _names(
    source: Source, users: Path, owners: set[bytes], names: dict[str, str]
) -> Iterator[Imported]:
    """Collect the names of users who wrote a post; yields damaged rows only."""

    def add(row: formats.Record) -> list[Post]:
        number = _text(row, "Id")
        name = display_name(row.values.get("DisplayName"))
        if name and number.encode() in owners:
            names[number] = name
        return []

    yield from _records(source, users, add)


def _accepted_and_owners(source: Source, posts: Path) -> tuple[set[str], set[bytes]]:
    """The ids of accepted answers, and of the users who wrote a post."""
    # not parsed, which is slow; texts cannot match, since quotes are escaped inside attributes
    accepted: set[str] = set()
    owners: set[bytes] = set()
    gap = 0  # bytes since the last row
    with source.open(posts) as stream:
        for chunk in stream.chunks():
            accepted.update(match.decode() for match in _ACCEPTED.findall(chunk))
            owners.update(_OWNER.findall(chunk))
            gap = 0 if ROW in chunk else gap + len(chunk)
            refuse_gap(stream.name, gap)
    return accepted, owners


@contextmanager
def _tables(source: Source) -> Iterator[tuple[Path, Path | None, Path | None]]:
    """Posts, links and users, unpacked where needed; temporary files are removed afterwards."""
    path = source.need_path(_WHAT)
    with TemporaryDirectory(prefix="askonce-") as temporary:
        posts = _table(source, path, "Posts.xml", Path(temporary))
        if posts is None:
            raise AskonceError(f"no Posts.xml, .gz or .7z in {str(path)!r}; expected {_WHAT}")
        links, users = (
            _table(source, path, name, Path(temporary)) for name in ("PostLinks.xml", "Users.xml")
        )
        yield posts, links, users


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
