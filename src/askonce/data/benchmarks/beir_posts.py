"""Posts as lines of BEIR's ``corpus.jsonl`` and ``queries.jsonl``, and references to them."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from askonce.data.formats.json_lines import Object, json_lines, name_field, text_field
from askonce.errors import DataError
from askonce.types import Post, PostKind

Posts = Mapping[str, Post]
Reference = str | Object  # an id, or the post itself where its id stands for another post

# What BEIR has no field for goes under "metadata", where it differs from the default.
_METADATA: dict[str, tuple[type, ...]] = {
    "kind": (str,),
    "parent": (str,),
    "score": (int,),
    "accepted": (bool,),
    "tags": (list,),
    "created": (str,),
}
_DEFAULTS = {f.name: f.default for f in fields(Post) if f.default is not MISSING}


def document(post: Post) -> Object:
    """A line of ``corpus.jsonl``."""
    return {"_id": post.id, "title": post.title, "text": post.body, **_metadata(post)}


def query_line(post: Post) -> Object:
    """A line of ``queries.jsonl``: tools read only ``text``, so it holds the title too."""
    title = {"title": post.title} if post.title else {}
    return {"_id": post.id, **title, "text": post.text, **_metadata(post)}


def read_documents(path: Path, ours: bool) -> dict[str, Post]:
    """The posts of ``corpus.jsonl`` by id; only in a folder of ours does ``metadata`` count."""
    posts: dict[str, Post] = {}
    for line, value in json_lines(path, may_be_empty=ours):
        _add(path, line, posts, _post(path, line, value, ours, "answer"))
    return posts


def read_queries(path: Path, ours: bool) -> dict[str, Post]:
    """The posts of ``queries.jsonl`` by id."""
    posts: dict[str, Post] = {}
    for line, value in json_lines(path, may_be_empty=ours):
        title, text = value.get("title"), value.get("text")
        if title and isinstance(title, str) and isinstance(text, str):
            value["text"] = _without_title(title, text)
        _add(path, line, posts, _post(path, line, value, ours, "question"))
    return posts


def reference(post: Post, table: Posts) -> Reference:
    """The shortest way to name a post."""
    known = table.get(post.id)  # most often the very same object, which is quick to see
    return post.id if known is post or known == post else document(post)


def resolve(path: Path, line: int, value: Reference, table: Posts) -> Post:
    """The post that a reference names."""
    if isinstance(value, dict):
        return _post(path, line, value, ours=True)
    if not isinstance(value, str) or value not in table:
        raise DataError(path, "the id of a post of this folder", value, line)
    return table[value]


def _without_title(title: str, text: str) -> str:
    if text == title:
        return ""
    return text.removeprefix(f"{title}\n")


def _post(
    path: Path, line: int, value: Object, ours: bool, foreign_kind: PostKind = "question"
) -> Post:
    extra = _read_metadata(path, line, value) if ours else {"kind": foreign_kind}
    return Post(
        name_field(path, line, value, "_id"),
        text_field(path, line, value, "title", ""),
        text_field(path, line, value, "text"),
        **extra,
    )


def _metadata(post: Post) -> Object:
    values = {name: getattr(post, name) for name in _METADATA}
    extra = {name: value for name, value in values.items() if value != _DEFAULTS[name]}
    return {"metadata": extra} if extra else {}


def _read_metadata(path: Path, line: int, value: Object) -> dict[str, Any]:
    extra = value.get("metadata", {})
    if not isinstance(extra, dict):
        raise DataError(path, "'metadata': an object", extra, line)
    for name, item in extra.items():
        if not isinstance(item, _METADATA.get(name, ())):
            raise DataError(path, f"metadata of {', '.join(_METADATA)}", {name: item}, line)
    if extra.get("kind", "question") not in ("question", "answer"):
        raise DataError(path, "'kind': question or answer", extra["kind"], line)
    return {**extra, "tags": tuple(extra["tags"])} if "tags" in extra else extra


def _add(path: Path, line: int, posts: dict[str, Post], post: Post) -> None:
    if post.id in posts:
        raise DataError(path, "each id once", f"{post.id!r} again", line)
    posts[post.id] = post
