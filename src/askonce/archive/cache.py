"""Posts and links that queries read, kept in memory until the archive changes them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

from askonce.archive import links
from askonce.archive.store import Archive
from askonce.types import Post

T = TypeVar("T")

MAX_CHARACTERS = 64_000_000  # of all cached posts
MAX_IDS = 200_000  # whose answers or duplicates are known
MAX_CHANGES = 1000  # beyond that everything is read again


@dataclass
class _Contents:
    """What is known as of one change number."""

    change: int
    posts: dict[str, Post] = field(default_factory=dict)  # the oldest entry first
    characters: int = 0
    answers: dict[str, dict[str, bool]] = field(default_factory=dict)  # {}: there are none
    targets: dict[str, str] = field(default_factory=dict)  # of duplicate links; "": none


class PostCache:
    """Reads like an archive, without a statement for what was read before. Threads may share it.

    ``refresh`` begins with new contents if the archive has changed, also by another process. A
    thread that has read a post before the change adds it to the old contents, where no later query
    looks.
    """

    def __init__(self, archive: Archive, max_characters: int = MAX_CHARACTERS) -> None:
        self._archive, self._max_characters = archive, max_characters
        self._contents = _Contents(change=-1)
        self._refreshing, self._adding = Lock(), Lock()

    def refresh(self) -> None:
        """Drop what has changed since the last call; queries call it once, before they read."""
        with self._refreshing:
            latest, old = self._archive.change, self._contents
            if latest == old.change:
                return
            fresh = _Contents(latest)
            if old.change < latest <= old.change + MAX_CHANGES:
                changed = set(self._archive.changed_ids(old.change))
                with self._adding:
                    fresh.posts = {n: post for n, post in old.posts.items() if n not in changed}
                fresh.characters = sum(map(_characters, fresh.posts.values()))
            self._contents = fresh

    def posts(self, ids: Sequence[str], html: bool = True) -> dict[str, Post]:
        """Those of these posts that exist, by id; always with HTML."""
        contents = self._contents
        known = contents.posts.get
        posts = {name: post for name in ids if (post := known(name)) is not None}
        if len(posts) < len(ids) and (missing := [name for name in ids if name not in posts]):
            read = self._archive.posts(missing)
            with self._adding:
                for name, post in read.items():
                    replaced = contents.posts.pop(name, None)
                    contents.posts[name] = post
                    contents.characters += _characters(post) - _characters(replaced)
                while contents.characters > self._max_characters:
                    oldest = next(iter(contents.posts))
                    contents.characters -= _characters(contents.posts.pop(oldest))
            posts |= read
        return posts

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """The titles of those of these posts that exist, by id."""
        return {name: post.title for name, post in self.posts(ids).items()}

    def answer_marks(self, ids: Sequence[str]) -> dict[str, dict[str, bool]]:
        """The ids of each question's answers, and whether each is accepted."""
        return _looked_up(self._contents.answers, ids, self._archive.answer_marks, {})

    def duplicates_of(self, ids: Sequence[str]) -> dict[str, str]:
        """The question that each of these is marked as a duplicate of."""
        return _looked_up(self._contents.targets, ids, self._archive.duplicates_of, "")

    def originals(self, ids: Sequence[str]) -> Mapping[str, str]:
        """The end of each question's chain of duplicates."""
        return links.originals(ids, self.duplicates_of)


def _characters(post: Post | None) -> int:
    return 0 if post is None else len(post.title) + len(post.body) + len(post.html)


def _looked_up(
    known: dict[str, T], ids: Sequence[str], read: Callable[[Sequence[str]], Mapping[str, T]], no: T
) -> dict[str, T]:
    """The values of those of these ids that have one; what is not known is read and added."""
    values: dict[str, T] = {}
    missing: list[str] = []
    for name in ids:
        value = known.get(name)
        if value:
            values[name] = value
        elif value is None:
            missing.append(name)
    if missing:
        stored = read(missing)
        if len(known) + len(missing) > MAX_IDS:
            known.clear()
        known.update((name, stored.get(name, no)) for name in missing)
        values |= stored
    return values
