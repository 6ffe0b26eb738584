"""Make the vectors of a large archive in shards, by many processes; one writer puts them together.

What is written is what the engine would have made by itself, up to the same change number.
"""

import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path

from askonce.archive import Archive, open_archive
from askonce.archive.database import is_address
from askonce.engine.bulk.shards import Shard, ShardFolder, shards_between
from askonce.engine.lifecycle.loading import Loader, load_coder
from askonce.errors import NotAnEncoder
from askonce.files import Lock
from askonce.index.base import KeyEncoder, KeyIndex
from askonce.index.storage import IndexStorage, index_storage
from askonce.ranking.manifest import Serving, current, read_manifest
from askonce.types import PostKind

WORK = "encoding"  # the folder of shards, below the archive's

# from an archive's place and shards of it to the content of their files, in any order
Encode = Callable[[str, PostKind, KeyEncoder, Sequence[Shard]], Iterable[tuple[Shard, bytes]]]
Show = Callable[[str, int, int], None]  # what is being done, how much of it, of how much


def encode_archive(
    place: str | Path,
    encode: Encode,
    show: Show,
    *,
    index: str | None = None,
    folder: Path | None = None,
    rebuild: bool = False,
) -> None:
    """Encode all posts that the vectors of an archive lack; a stopped run goes on where it was.

    The names are those of ``Engine.open``, which afterwards finds the vectors up to date.
    """
    with closing(open_archive(place, folder)) as archive:
        if archive.folder is None or (models := current(archive.folder)) is None:
            raise NotAnEncoder("no encoder serves this archive; `askonce train` makes one")
        lock = Lock(archive.folder / "index" / "lock")
        if not lock.acquire():
            raise lock.refusal(f"the indexes of {archive.name!r}")
        try:
            home = index_storage(index, archive.folder / "index", archive.name, writable=True)
            if rebuild:
                home.clear()
            _encode_kinds(_Task(archive, _everywhere(place), home, encode, show), models)
        finally:
            lock.release()


class _Task:
    """One archive, how it is encoded, and where its vectors go."""

    def __init__(
        self, archive: Archive, place: str, home: IndexStorage, encode: Encode, show: Show
    ) -> None:
        self.archive, self.place, self.home = archive, place, home
        self.encode, self.show = encode, show
        self.work = Path(archive.folder or "") / WORK

    def run(self, kind: PostKind, coder: KeyEncoder, index: KeyIndex) -> None:
        """Encode what an index lacks, then put it there, all or nothing."""
        start, end = index.position, self.archive.change
        if start == end:
            return
        shards = shards_between(start, end)
        # keys of other weights, or for an index that has gone on, are of no use
        kept = ShardFolder(self.work / f"{kind}s-{coder.name}-{start}")
        for other in self.work.glob(f"{kind}s-*"):
            if other != kept.folder:
                shutil.rmtree(other)
        self._encode_missing(kind, coder, kept, shards)
        with self.home.changing([index], self.archive.turn):
            if index.position == start:  # else another server was quicker
                self._put(kind, index, kept, shards)
        shutil.rmtree(kept.folder, ignore_errors=True)

    def _encode_missing(
        self, kind: PostKind, coder: KeyEncoder, kept: ShardFolder, shards: list[Shard]
    ) -> None:
        missing = kept.missing(shards)
        done, total = len(shards) - len(missing), len(shards)
        self.show(f"encoding {kind}s", done, total)
        if missing:
            for shard, content in self.encode(self.place, kind, coder, missing):
                kept.write(shard, content)
                done += 1
                self.show(f"encoding {kind}s", done, total)

    def _put(self, kind: PostKind, index: KeyIndex, kept: ShardFolder, shards: list[Shard]) -> None:
        for number, encoded in enumerate(kept.read(shards)):
            self.show(f"indexing {kind}s", number, len(shards))
            if encoded.gone:
                index.remove(encoded.gone)
            if encoded.ids:
                index.add_keys(encoded.ids, encoded.keys)
        index.position = shards[-1].end
        index.save()


def _encode_kinds(task: _Task, models: Path) -> None:
    manifest = read_manifest(models)
    served: list[tuple[PostKind, Serving | None]] = [
        ("question", manifest.questions),
        ("answer", manifest.answers),
    ]
    encoders = [(kind, one.encoder) for kind, one in served if one is not None and one.encoder]
    if not encoders:
        raise NotAnEncoder("no encoder serves this archive; `askonce train` makes one")
    loader = Loader(task.archive, task.home, lambda text: task.show(text, 0, 0))
    for kind, encoder in encoders:
        coder = load_coder(encoder, models)
        index = loader.keys(kind, coder, models.name)
        try:
            task.run(kind, coder, index)
        finally:
            index.close()


def _everywhere(place: str | Path) -> str:
    """The archive's place as a process in another folder names it."""
    return str(place) if is_address(str(place)) else str(Path(place).absolute())
