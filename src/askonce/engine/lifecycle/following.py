"""Keep indexes in step with the archive."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from askonce.archive import Archive
from askonce.index.base import Index, IndexDamaged
from askonce.index.storage import changing
from askonce.types import Post, PostKind

CHUNK = 5000
FAR_BEHIND = 20_000  # changes; beyond that an empty index takes all posts in one commit


@dataclass(frozen=True)
class EngineEvent:
    """What the engine is doing, or a problem that it survived."""

    text: str
    done: int = 0
    total: int = 0  # 0: not counted
    problem: bool = False

    def __str__(self) -> str:
        return f"{self.text}: {self.done:,} of {self.total:,}" if self.total else self.text


OnEngineEvent = Callable[[EngineEvent], None]


def follow(
    archive: Archive, kind: PostKind, indexes: Sequence[Index], on_event: OnEngineEvent
) -> None:
    """Bring the indexes of one kind of posts up to date, if there is anything new."""
    positions = [index.position for index in indexes]
    change = archive.change
    if max(positions) > change:
        raise IndexDamaged(f"the index of {kind}s is ahead of the archive; rebuild it")
    if min(positions) < change:
        with changing(indexes, archive.turn):
            catch_up(archive, kind, indexes, on_event)


def catch_up(
    archive: Archive, kind: PostKind, indexes: Sequence[Index], on_event: OnEngineEvent
) -> None:
    for index in indexes:
        if not len(index) and archive.change - index.position > FAR_BEHIND:
            fill(archive, kind, index, on_event)
    latest = archive.change  # the last numbers may be those of links, which no index holds
    position = min(index.position for index in indexes)
    while changes := archive.changes(position, CHUNK):
        position = changes[-1].number
        for index in indexes:
            new = [c for c in changes if c.number > index.position and c.kind == kind]
            if deleted := [change.id for change in new if change.post is None]:
                index.remove(deleted)
            if posts := [change.post for change in new if change.post is not None]:
                index.add(posts)
            index.position = position
    for index in indexes:
        index.position = max(index.position, latest)


def fill(archive: Archive, kind: PostKind, index: Index, on_event: OnEngineEvent) -> None:
    """Add every post of a kind to a new index."""
    change = archive.change  # later changes are applied afterwards
    total = archive.counts()[f"{kind}s"]

    def posts() -> Iterator[Post]:
        for number, post in enumerate(archive.iterate(kind)):
            if number % 1000 == 0:
                on_event(EngineEvent(f"indexing {kind}s", number, total))
            yield post

    index.add(posts())
    index.position = change
