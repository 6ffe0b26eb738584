"""Posts and links as JSON objects: what `askonce export` writes and `askonce import` reads."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any, get_args

from askonce.data.formats import Record
from askonce.data.formats.jsonl import read_objects, write_objects
from askonce.text.html import html_to_text
from askonce.text.leaks import strip_notices
from askonce.types import SOURCE_FIELDS, Link, LinkKind, Post, PostKind

_DEFAULTS = {field.name: field.default for field in fields(Post) if field.default is not MISSING}
_KINDS = get_args(PostKind)
_TYPES: dict[str, type] = {"score": int, "accepted": bool, "created": str}
_TYPES |= dict.fromkeys(SOURCE_FIELDS, str)
_TAG = re.compile(
    r"</?(?:p|br|div|pre|code|ul|ol|li|blockquote|h[1-6]|strong|em|b|i|img|table)\s*/?>"
    r"|<(?:a|img|pre|code|div|p)\s+\w+\s*=",
    re.IGNORECASE,
)


def post_to_json(post: Post) -> dict[str, Any]:
    """A post as an object; fields with their default value are left out."""
    values = {name: value for name, value in asdict(post).items() if value != _DEFAULTS.get(name)}
    if post.html:  # or the reader would derive a body from it
        values["body"] = post.body
    return {"id": post.id, "kind": post.kind, **values}


def to_json(record: Post | Link) -> dict[str, Any]:
    if isinstance(record, Post):
        return post_to_json(record)
    return {"kind": "link", "source": record.source, "target": record.target, "link": record.kind}


def from_json(record: Record, code: bool = True) -> Post | Link:
    is_link = record.values.get("kind") == "link"
    return _link_from_json(record) if is_link else post_from_json(record, code)


def _link_from_json(record: Record) -> Link:
    kind = record.values.get("link", "duplicate")
    if kind not in get_args(LinkKind):
        raise record.error("link duplicate or related", kind)
    for end in ("source", "target"):
        if end not in record.values:
            raise record.error(f"a link with {end!r}", dict(record.values))
    return Link(record.name("source"), record.name("target"), kind)


def post_from_json(record: Record, code: bool = True) -> Post:
    """The post of an object; any wrong value is a DataError.

    Without a body, HTML is converted to one, with blocks of code unless ``code`` is false.
    """
    given = record.values
    if None in given.values():
        given = {key: value for key, value in given.items() if value is not None}
        record = Record(record.path, record.line, given)
    kind: PostKind | None = given.get("kind")
    if kind is None or kind not in _KINDS:
        raise record.error("kind question, answer or link", kind)
    html, body = record.text("html", ""), record.text("body", "")
    if "body" not in given and html:
        body, html = text_and_html(html, code)
    tags = given.get("tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise record.error("'tags': a list of texts", tags)
    for key, value in given.items():
        if type(value) is not _TYPES.get(key, type(value)):
            raise record.error(f"{key!r}: {_TYPES[key].__name__}", value)
    return Post(
        id=record.name("id"),
        title=record.text("title", ""),
        body=body,
        kind=kind,
        parent=record.name("parent") if "parent" in given else None,
        score=given.get("score"),
        accepted=given.get("accepted", False),
        tags=tuple(tags),
        created=given.get("created"),
        html=html,
        **{name: given.get(name) for name in SOURCE_FIELDS},
    )


def write_posts(path: Path, records: Iterable[Post | Link]) -> None:
    """Write posts and links as a JSONL file, gzipped if its name ends in ``.gz``."""
    write_objects(path, map(to_json, records))


def read_posts(path: Path) -> Iterator[Post | Link]:
    return map(from_json, read_objects(path, may_be_empty=True))


def is_html(text: str) -> bool:
    """Whether a text contains tags that forums use."""
    return "<" in text and _TAG.search(text) is not None


def plain_or_html(text: str, code: bool) -> tuple[str, str]:
    """Plain text and HTML of a post that may be either; no HTML for plain text."""
    return text_and_html(text, code) if is_html(text) else (strip_notices(text).strip(), "")


def text_and_html(html: str, code: bool) -> tuple[str, str]:
    """Plain text and HTML of a post, both without the notices that give duplicates away."""
    html = strip_notices(html)
    return html_to_text(html, code), html
