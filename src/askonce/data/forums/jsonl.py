"""JSONL: one question, answer or link per line; what `askonce export` writes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from askonce.data.formats.json_lines import Object, json_object, name_field, text_field
from askonce.data.forums import IMPORTERS, Damaged, Record, Source
from askonce.data.forums.formatted import two_forms
from askonce.data.forums.source import LONGEST_RECORD, Stream
from askonce.errors import DataError
from askonce.types import Link, LinkKind, Post, PostKind

_OPTIONAL: dict[str, tuple[type, ...]] = {"score": (int,), "accepted": (bool,), "created": (str,)}
_OPTIONAL |= {"url": (str,), "author": (str,), "author_url": (str,)}


@IMPORTERS.add("jsonl", "json-lines")
def read(source: Source) -> Iterator[Record]:
    """A JSONL file of posts and links, .gz or not; the form that `askonce export` writes.

    A post has ``id``, ``kind`` (question or answer), ``title``, ``body`` or ``html``, and may have
    ``parent``, ``score``, ``accepted``, ``tags``, ``created``. A link has the kind ``link``,
    ``source``, ``target``, and ``link`` (duplicate or related).
    """
    path = source.need_file("a JSONL file")
    source.expect(path)
    with source.open(path) as stream:
        for value in json_objects(stream):
            if isinstance(value, Damaged):
                yield value
                continue
            line, record = value
            try:
                yield _record(stream.name, line, record, source.code)
            except DataError as error:
                yield Damaged.of(error)


def json_objects(
    stream: Stream, may_be_empty: bool = False
) -> Iterator[tuple[int, Object] | Damaged]:
    """The objects of a file with their line numbers; blank lines are passed over."""
    number = 0
    for number, raw in enumerate(stream.lines(), start=1):
        try:
            text = _text(stream.name, number, raw)
            if text:
                yield number, json_object(stream.name, text, number)
        except DataError as error:
            yield Damaged.of(error)
    if stream.flaw:
        yield Damaged(f"{stream.name}, line {number + 1}", stream.flaw)
    elif number == 0 and not may_be_empty:
        raise DataError(stream.name, "at least one line", "an empty file")


def post_of(name: Path, line: int, record: Object, code: bool = True) -> Post:
    """The post of a record; anything that is not as it should be is a DataError."""
    kind: PostKind | None = record.get("kind")
    if kind is None or kind not in get_args(PostKind):
        raise DataError(name, "kind question, answer or link", kind, line)
    html = _text_or_none(name, line, record, "html") or ""
    body = _text_or_none(name, line, record, "body")
    if body is None and html:
        body, html = two_forms(html, code)
    return Post(
        id=name_field(name, line, record, "id"),
        title=_text_or_none(name, line, record, "title") or "",
        body=body or "",
        kind=kind,
        parent=None if record.get("parent") is None else name_field(name, line, record, "parent"),
        tags=_tags(name, line, record),
        html=html,
        **_optional(name, line, record),
    )


def _record(name: Path, line: int, record: Object, code: bool) -> Post | Link:
    if record.get("kind") != "link":
        return post_of(name, line, record, code)
    kind = record.get("link", "duplicate")
    if kind not in get_args(LinkKind):
        raise DataError(name, "link duplicate or related", kind, line)
    for end in ("source", "target"):
        if end not in record:
            raise DataError(name, f"a link with {end!r}", record, line)
    source, target = (name_field(name, line, record, end) for end in ("source", "target"))
    return Link(source, target, kind)


def _text(name: Path, number: int, raw: bytes) -> str:
    if len(raw) > LONGEST_RECORD:
        raise DataError(name, f"lines of at most {LONGEST_RECORD:,} bytes", "a longer one", number)
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError as error:
        raise DataError(name, "UTF-8 text", raw[error.start : error.start + 10], number) from None


def _text_or_none(name: Path, line: int, record: Object, key: str) -> str | None:
    return None if record.get(key) is None else text_field(name, line, record, key)


def _tags(name: Path, line: int, record: Object) -> tuple[str, ...]:
    tags = record.get("tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise DataError(name, "'tags': a list of texts", tags, line)
    return tuple(tags)


def _optional(name: Path, line: int, record: Object) -> dict[str, Any]:
    found = {key: record[key] for key in _OPTIONAL if record.get(key) is not None}
    for key, value in found.items():
        if type(value) not in _OPTIONAL[key]:
            expected = " or ".join(kind.__name__ for kind in _OPTIONAL[key])
            raise DataError(name, f"{key!r}: {expected}", value, line)
    return found
