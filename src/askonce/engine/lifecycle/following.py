"""Keep indexes in step with the archive."""

from collections.abc import Callable, Iterator, Sequence

from askonce.archive import Archive
from askonce.index.base import Index, IndexDamaged
from askonce.index.storage import IndexStorage
from askonce.types import Post, PostKind

Tell = Callable[[str], None]

CHUNK = 5000
FAR_BEHIND = 20_000  # changes; from there a new index takes all posts at once, in one commit


def follow(
    archive: Archive, kind: PostKind, indexes: Sequence[Index], home: IndexStorage, tell: Tell
) -> None:
    """Bring the indexes of one kind of posts up to date, if there is anything new."""
    positions = [index.position for index in indexes]
    change = archive.change
    if max(positions) > change:
        raise IndexDamaged(f"the index of {kind}s is ahead of the archive; build it anew")
    if min(positions) < change:
        with home.changing(indexes, archive.turn):
            catch_up(archive, kind, indexes, tell)


def catch_up(archive: Archive, kind: PostKind, indexes: Sequence[Index], tell: Tell) -> int:
    """Bring the indexes of one kind of posts to the archive's latest change; that change."""
    for index in indexes:
        if not len(index) and archive.change - index.position > FAR_BEHIND:
            fill(archive, kind, index, tell)
    position = min(index.position for index in indexes)
    while changes := archive.changes(position, CHUNK):
        for index in indexes:
            new = [c for c in changes if c.number > index.position and c.kind == kind]
            gone = [change.id for change in new if change.post is None]
            if gone:
                index.remove(gone)
            came = [change.post for change in new if change.post is not None]
            if came:
                index.add(came)
            index.position = changes[-1].number
        position = changes[-1].number
    return position


def fill(archive: Archive, kind: PostKind, index: Index, tell: Tell) -> None:
    """Put every post of a kind into a new index."""
    before = archive.change  # what comes while we read is caught up with afterwards
    total = archive.counts()[f"{kind}s"]

    def posts() -> Iterator[Post]:
        for number, post in enumerate(archive.iterate(kind)):
            if number % 1000 == 0:
                tell(f"indexing {kind}s: {number:,} of {total:,}")
            yield post

    index.add(posts())
    index.position = before
