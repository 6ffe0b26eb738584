"""Load the records of an importer into an archive, thousands of posts per transaction."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO

from askonce.archive.rows import problem
from askonce.archive.store import Archive
from askonce.archive.writing import Written
from askonce.data.formats.jsonl import json_object
from askonce.data.formats.posts import post_from_json, post_to_json
from askonce.data.forums import Damaged, Imported
from askonce.errors import AskonceError
from askonce.index.base import batches
from askonce.types import Link, Post

BATCH = 2000  # posts per transaction
SHOWN = 10  # damaged records kept as examples
_IN_MEMORY = 8 << 20  # bytes of waiting answers, before they move to a temporary file
# Control characters other than white space, and halves of surrogate pairs, which no database takes.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


@dataclass
class Tally:
    """What has been written so far, by an import or by ``sync``."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    links: int = 0
    damaged: int = 0
    examples: list[str] = field(default_factory=list)  # the first damaged records

    @property
    def posts(self) -> int:
        return self.added + self.changed + self.unchanged

    def add(self, written: Written) -> None:
        self.added += written.added
        self.changed += written.changed
        self.unchanged += written.unchanged
        self.links += written.links_added

    def add_damaged(self, record: Damaged) -> None:
        self.damaged += 1
        if len(self.examples) < SHOWN:
            self.examples.append(str(record))


@dataclass
class Summary(Tally):
    unknown_links: int = 0  # to or from a question that is missing
    circular_links: int = 0  # make a question a duplicate of itself


OnImportProgress = Callable[[Summary], None]
OnDamaged = Callable[[Damaged], None]


def load(
    archive: Archive,
    records: Iterable[Imported],
    on_progress: OnImportProgress = lambda summary: None,
    strict: bool = False,
) -> Summary:
    """Add posts and links, or update those that exist.

    A damaged record is counted and skipped or, with ``strict``, an error; records before it stay.
    An answer waits for its question, and counts as damaged if that never comes. A link is written
    if both its questions exist and it does not make one of them a duplicate of itself.
    """
    with SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8") as waiting:
        loading = _Loading(archive, waiting, strict)
        links: list[Link] = []
        for batch in batches(loading.sound(records, links), BATCH):
            loading.write(batch)
            on_progress(loading.summary)
        loading.write_waiting()
    loading.write_links(links)
    on_progress(loading.summary)
    return loading.summary


class _Loading:
    def __init__(self, archive: Archive, waiting: IO[str], strict: bool) -> None:
        self.archive, self.waiting, self.strict = archive, waiting, strict
        self.summary = Summary()
        self._seen: set[str] = set()

    def sound(self, records: Iterable[Imported], links: list[Link]) -> Iterator[Post]:
        """The posts that an archive can hold, each id once; links are collected for later."""
        for post in sound_posts(records, links, self._damaged):
            if post.id in self._seen:
                self._damaged(about(post, "expected a new id"))
            else:
                self._seen.add(post.id)
                yield post

    def write(self, batch: list[Post], wait: bool = True) -> None:
        """Write posts; an answer whose question does not exist yet waits, or is damaged."""
        ready, early = with_questions(self.archive, batch, self._damaged)
        for post in early:
            if wait:
                self.waiting.write(json.dumps(post_to_json(post)) + "\n")
            else:
                self._damaged(about(post, f"expected its question {post.parent!r}, found none"))
        self.summary.add(self.archive.write(self.archive.decisions.keep_merged(ready)))

    def write_waiting(self) -> None:
        self.waiting.seek(0)
        posts = (post_from_json(json_object(Path(), line)) for line in self.waiting)
        for batch in batches(posts, BATCH):
            self.write(batch, wait=False)

    def write_links(self, links: Iterable[Link]) -> None:
        for batch in batches(links, BATCH):
            ends = [{link.source, link.target} for link in batch]
            kinds = self.archive.kinds(set().union(*ends))
            known = {name for name, kind in kinds.items() if kind == "question"}
            valid = [link for link, pair in zip(batch, ends, strict=True) if pair <= known]
            circular = len(self.archive.add_links(valid).circular)
            self.summary.links += len(valid) - circular
            self.summary.circular_links += circular
            self.summary.unknown_links += len(batch) - len(valid)

    def _damaged(self, record: Damaged) -> None:
        if self.strict:
            raise AskonceError(str(record))
        self.summary.add_damaged(record)


def sound_posts(
    records: Iterable[Imported], links: list[Link], damaged: OnDamaged
) -> Iterator[Post]:
    """The posts that an archive can hold; links are added to the list."""
    for record in records:
        if isinstance(record, Link):
            links.append(record)
        elif isinstance(record, Damaged):
            damaged(record)
        elif wrong := problem(post := cleaned(record)):
            damaged(about(post, wrong))
        else:
            yield post


def with_questions(
    archive: Archive, posts: Sequence[Post], damaged: OnDamaged
) -> tuple[list[Post], list[Post]]:
    """The posts that can be written now, and the answers whose question is not there yet."""
    stored = archive.kinds({name for post in posts for name in (post.id, post.parent or "")})
    kinds = {post.id: post.kind for post in posts} | stored
    ready, early = [], []
    for post in posts:
        if kinds[post.id] != post.kind:
            damaged(about(post, f"known as {kinds[post.id]}, not {post.kind}"))
        elif post.kind == "question" or kinds.get(post.parent or "") == "question":
            ready.append(post)
        else:
            early.append(post)
    return ready, early


def cleaned(post: Post) -> Post:
    texts = (post.title, post.body, post.html)
    if all(text.replace("\n", "").isprintable() for text in texts):  # nearly always, and quick
        return post
    title, body, html = (_CONTROL.sub("", text) for text in texts)
    return replace(post, title=title, body=body, html=html)


def about(post: Post, what: str) -> Damaged:
    return Damaged(f"post {post.id[:50]!r}", what)
