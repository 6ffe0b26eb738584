"""Convert posts to rows of the archive and back; check what an archive can hold."""

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from typing import Any

from sqlalchemy import Row

from askonce.data.formats.sources import LONGEST_NAME, LONGEST_URL, is_web_address
from askonce.errors import AskonceError, shorten
from askonce.types import Post

LONGEST_ID = 200
LONGEST_TEXT = 1_000_000  # characters of a title, a body or its HTML
MOST_TAGS = 100
# columns have the names of the fields of a post, in whose order they are read; ``tags`` are JSON
FIELDS = tuple(field.name for field in fields(Post))
_TAGS = FIELDS.index("tags")
_values = attrgetter(*FIELDS)


def as_row(post: Post) -> dict[str, Any]:
    """The columns that a writer sets; the archive assigns ``number`` and ``change``."""
    tags = json.dumps(post.tags, ensure_ascii=False)
    return dict(zip(FIELDS, _values(post), strict=True)) | {"tags": tags, "deleted": False}


def as_post(row: Row[Any]) -> Post:
    return post_of(_values(row))


def post_of(values: Sequence[Any]) -> Post:
    """A post from its columns in the order of ``FIELDS``; by name takes twice as long."""
    columns = list(values)
    columns[_TAGS] = tuple(json.loads(columns[_TAGS]))
    return Post(*columns)


def check(post: Post) -> Post:
    """Return the post if an archive can hold it, else raise an error that names the problem."""
    message = problem(post)
    if message:
        raise AskonceError(f"post {post.id[:50]!r}: {message}")
    return post


def problem(post: Post) -> str | None:
    checks = (_check_parent, _check_text, _check_numbers, _check_source)
    return _check_id("id", post.id) or next(filter(None, (run(post) for run in checks)), None)


def _check_id(name: str, value: str, longest: int = LONGEST_ID) -> str | None:
    if not value or len(value) > longest:
        return f"{name} of {len(value)} characters; expected 1 to {longest}"
    if not value.isprintable() or value != value.strip():
        return f"expected {name} without control characters or spaces around it"
    return None


def _check_parent(post: Post) -> str | None:
    if post.kind == "question":
        return f"a question has no parent, found {post.parent[:50]!r}" if post.parent else None
    if not post.parent:
        return "an answer needs 'parent', the id of its question"
    return _check_id("parent", post.parent)


def _check_text(post: Post) -> str | None:
    for name, text in (("title", post.title), ("body", post.body), ("html", post.html)):
        if len(text) > LONGEST_TEXT:
            return f"{name} of {len(text):,} characters; at most {LONGEST_TEXT:,}"
        if not _is_storable(text):
            return f"{name} holds a NUL character or half a surrogate pair; remove it"
    return None if post.text.strip() else "no text; a post needs a title or a body"


def _is_storable(text: str) -> bool:
    """Whether a database accepts the text: PostgreSQL no NUL, none a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _check_numbers(post: Post) -> str | None:
    if post.score is not None and abs(post.score) >= 2**31:
        return f"a score of {len(str(post.score))} digits; expected one of 32 bits"
    if len(post.tags) > MOST_TAGS or any(_check_id("tag", tag) for tag in post.tags):
        return f"expected at most {MOST_TAGS} tags of 1 to {LONGEST_ID} printable characters"
    try:
        if post.created is not None:
            datetime.fromisoformat(post.created)
    except ValueError:
        return f"expected 'created' in ISO 8601, found {shorten(post.created)}"
    return None


def _check_source(post: Post) -> str | None:
    for name in ("author", "site", "licence"):
        value = getattr(post, name)
        if value is not None and (message := _check_id(name, value, LONGEST_NAME)):
            return message
    for name, url in (("url", post.url), ("author_url", post.author_url)):
        if url is not None and (_check_id(name, url, LONGEST_URL) or not is_web_address(url)):
            return (
                f"expected {name!r} to be an http or https address of at most {LONGEST_URL} "
                f"characters, found {shorten(url)}"
            )
    return None
