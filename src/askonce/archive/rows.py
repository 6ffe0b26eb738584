"""A post as a row of the archive, and back."""

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from askonce.errors import AskonceError, shorten
from askonce.types import Post

LONGEST_ID = 200
LONGEST_TEXT = 1_000_000  # characters of a title, a body or its HTML
MOST_TAGS = 100


def as_row(post: Post) -> dict[str, Any]:
    """The columns that a writer gives; number and change come from the archive."""
    return {
        "id": post.id,
        "kind": post.kind,
        "parent": post.parent,
        "title": post.title,
        "body": post.body,
        "html": post.html,
        "score": post.score,
        "accepted": post.accepted,
        "tags": json.dumps(post.tags, ensure_ascii=False),
        "created": post.created,
        "deleted": False,
    }


def as_post(row: Row[Any]) -> Post:
    """The post of a row; its HTML only where the row has it."""
    return Post(
        id=row.id,
        title=row.title,
        body=row.body,
        kind=row.kind,
        parent=row.parent,
        score=row.score,
        accepted=row.accepted,
        tags=tuple(json.loads(row.tags)),
        created=row.created,
        html=getattr(row, "html", ""),
    )


def check(post: Post) -> Post:
    """The post, if an archive can hold it; else an error that says what is wrong with it."""
    wrong = problem(post)
    if wrong:
        raise AskonceError(f"post {post.id[:50]!r}: {wrong}")
    return post


def problem(post: Post) -> str | None:
    """What keeps an archive from holding a post, in words for its author."""
    return _wrong_id("id", post.id) or _wrong_parent(post) or _wrong_text(post) or _wrong_rest(post)


def _wrong_id(name: str, value: str) -> str | None:
    if not value or len(value) > LONGEST_ID:
        return f"{name} of {len(value)} characters; expected 1 to {LONGEST_ID}"
    if not value.isprintable() or value != value.strip():
        return f"expected {name} without control characters or spaces around it"
    return None


def _wrong_parent(post: Post) -> str | None:
    if post.kind == "question":
        return f"a question has no parent, found {post.parent[:50]!r}" if post.parent else None
    if not post.parent:
        return "an answer needs 'parent', the id of its question"
    return _wrong_id("parent", post.parent)


def _wrong_text(post: Post) -> str | None:
    for name, text in (("title", post.title), ("body", post.body), ("html", post.html)):
        if len(text) > LONGEST_TEXT:
            return f"{name} of {len(text):,} characters; at most {LONGEST_TEXT:,}"
        if not _is_storable(text):
            return f"{name} holds a NUL character or half a surrogate pair; remove it"
    return None if post.text.strip() else "no text; a post needs a title or a body"


def _is_storable(text: str) -> bool:
    """Whether databases take it as text: PostgreSQL no NUL, none of them half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _wrong_rest(post: Post) -> str | None:
    if post.score is not None and abs(post.score) >= 2**31:
        return f"a score of {len(str(post.score))} digits; expected one of 32 bits"
    if len(post.tags) > MOST_TAGS or any(_wrong_id("tag", tag) for tag in post.tags):
        return f"expected at most {MOST_TAGS} tags of 1 to {LONGEST_ID} printable characters"
    try:
        if post.created is not None:
            datetime.fromisoformat(post.created)
    except ValueError:
        return f"expected 'created' in ISO 8601, found {shorten(post.created)}"
    return None
