"""The posts and links of one forum."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from askonce.errors import AskonceError, DataError
from askonce.files import numbered_lines
from askonce.types import Link, LinkKind, Post, PostKind

BUILT_IN = "bicycles"


@dataclass(frozen=True)
class Archive:
    """Questions, their answers, and which question duplicates which."""

    name: str
    questions: Mapping[str, Post]
    answers: Mapping[str, Post]
    links: tuple[Link, ...] = ()
    _answers_of: dict[str, list[Post]] = field(default_factory=dict, repr=False)
    _duplicate_of: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for answer in self.answers.values():
            self._answers_of.setdefault(answer.parent or "", []).append(answer)
        for link in self.links:
            if link.kind == "duplicate":
                self._duplicate_of.setdefault(link.source, link.target)

    def answers_to(self, question_id: str) -> list[Post]:
        """The answers given to a question: the accepted one first, then by votes."""
        found = self._answers_of.get(question_id, [])
        return sorted(found, key=lambda a: (not a.accepted, -(a.score or 0), a.id))

    def duplicate_of(self, question_id: str) -> str | None:
        """The earlier question that this one was marked a duplicate of."""
        return self._duplicate_of.get(question_id)

    def original(self, question_id: str) -> str:
        """The end of the chain of duplicates from here; a cycle ends where it would close."""
        seen = {question_id}
        while (target := self._duplicate_of.get(question_id)) is not None and target not in seen:
            seen.add(target)
            question_id = target
        return question_id


def open_archive(place: str) -> Archive:
    """The built-in archive by its name, or a JSONL file of posts and links by its path."""
    if place == BUILT_IN:
        with resources.as_file(resources.files("askonce.data") / f"{BUILT_IN}.jsonl") as path:
            return read_archive(path)
    path = Path(place)
    if not path.is_file():
        raise AskonceError(
            f"no archive {place!r}; name a JSONL file, or {BUILT_IN!r} for the built-in one"
        )
    return read_archive(path)


def read_archive(path: Path) -> Archive:
    """Read one JSON object per line: questions, answers and links."""
    posts: dict[str, Post] = {}
    links: list[Link] = []
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        record = _record(path, number, line)
        if record.get("kind") == "link":
            links.append(_link(path, number, record))
            continue
        post = _post(path, number, record)
        if post.id in posts:
            raise DataError(path, "a new id", post.id, number)
        posts[post.id] = post
    _check_references(path, posts, links)
    by_kind = {
        kind: {i: p for i, p in posts.items() if p.kind == kind} for kind in get_args(PostKind)
    }
    return Archive(path.stem, by_kind["question"], by_kind["answer"], tuple(links))


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(path, "a JSON object", str(error), number) from None
    if not isinstance(record, dict):
        raise DataError(path, "a JSON object", record, number)
    return record


def _post(path: Path, number: int, record: dict[str, Any]) -> Post:
    if record.get("kind") not in get_args(PostKind):
        raise DataError(path, "kind question, answer or link", record.get("kind"), number)
    for key in ("id", "title", "body", "parent", "created"):
        if not isinstance(record.get(key, ""), str):
            raise DataError(path, f"a string as {key!r}", record[key], number)
    if not record.get("id"):
        raise DataError(path, "an id", record, number)
    return Post(
        id=record["id"],
        title=record.get("title", ""),
        body=record.get("body", ""),
        kind=record["kind"],
        parent=record.get("parent"),
        score=record.get("score"),
        accepted=bool(record.get("accepted", False)),
        tags=tuple(record.get("tags", ())),
        created=record.get("created"),
    )


def _link(path: Path, number: int, record: dict[str, Any]) -> Link:
    kind = record.get("link", "duplicate")
    if kind not in get_args(LinkKind):
        raise DataError(path, "link duplicate or related", kind, number)
    try:
        return Link(str(record["source"]), str(record["target"]), kind)
    except KeyError as key:
        raise DataError(path, f"a link with {key}", record, number) from None


def _check_references(path: Path, posts: Mapping[str, Post], links: Iterable[Link]) -> None:
    for post in posts.values():
        if post.kind == "answer" and post.parent not in posts:
            raise DataError(path, f"a question for answer {post.id!r}", post.parent)
    for link in links:
        for end in (link.source, link.target):
            if end not in posts:
                raise DataError(path, "links between known questions", end)
