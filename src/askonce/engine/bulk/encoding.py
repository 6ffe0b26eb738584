"""Encode a large archive in shards, by many processes; one writer fills the index.

The index equals what the engine would have built, up to the same change number.
"""

import shutil
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from askonce.archive import Archive, open_archive
from askonce.archive.cache import PostCache
from askonce.archive.database import is_address
from askonce.engine.bulk.shards import Encoded, Shard, ShardFolder, shards_between
from askonce.engine.lifecycle.following import EngineEvent, OnEngineEvent
from askonce.engine.lifecycle.loading import Loader, coder_of
from askonce.errors import NotAnEncoder
from askonce.files import Lock
from askonce.index.base import KeyEncoder, KeyIndex
from askonce.index.storage import IndexStorage, changing, index_storage
from askonce.ranking.manifest import current, read_manifest
from askonce.types import PostKind, TaskName

WORK = "encoding"  # the folder of shards, below the archive's

# from an archive's address and some of its shards to the content of their files, in any order
Encode = Callable[[str, PostKind, KeyEncoder, Sequence[Shard]], Iterable[tuple[Shard, bytes]]]


def encode_archive(
    source: str | Path,
    encode: Encode,
    on_event: OnEngineEvent,
    *,
    index: str | None = None,
    folder: Path | None = None,
    rebuild: bool = False,
) -> None:
    """Encode all posts that the vector index of an archive lacks; an interrupted run resumes.

    Where the archive has two readers, the slow one reads all posts that it has not read yet.
    The other arguments are those of ``Engine.open``.
    """
    with closing(open_archive(source, folder)) as archive:
        if archive.folder is None or (models := current(archive.folder)) is None:
            raise NotAnEncoder("no encoder serves this archive; `askonce train` makes one")
        lock = Lock(archive.folder / "index" / "lock")
        if not lock.acquire():
            raise lock.refusal(f"the indexes of {archive.name!r}")
        try:
            storage = index_storage(index, archive.folder / "index", archive.name, writable=True)
            if rebuild:
                storage.clear()
            address = str(source) if is_address(str(source)) else str(Path(source).absolute())
            _encode_kinds(_Job(archive, address, storage, encode, on_event), models)
        finally:
            lock.release()


@dataclass(frozen=True)
class _Job:
    archive: Archive
    source: str  # as a process in another folder needs it
    storage: IndexStorage
    encode: Encode
    on_event: OnEngineEvent

    def run(self, kind: PostKind, coder: KeyEncoder, index: KeyIndex) -> None:
        start, end = index.position, self.archive.change
        reader = coder.slow or coder
        unread = set(index.unread())
        old = shards_between(0, start) if unread else []
        shards = [*old, *shards_between(start, end)]
        if not shards:
            return
        work = Path(self.archive.folder or "") / WORK
        # a post that was indexed again since a stopped run may have another text
        encoded = ShardFolder(work / f"{kind}s-{reader.name}-{len(old)}-{start}")
        for other in work.glob(f"{kind}s-*"):
            if other != encoded.folder:  # keys of other weights, or from another position
                shutil.rmtree(other)
        self._encode_missing(kind, reader, encoded, shards)
        with changing([index], self.archive.turn):
            if index.position == start:  # otherwise another server was faster
                self._add(kind, index, encoded, shards, unread)
        shutil.rmtree(encoded.folder, ignore_errors=True)

    def _encode_missing(
        self, kind: PostKind, coder: KeyEncoder, encoded: ShardFolder, shards: list[Shard]
    ) -> None:
        missing = encoded.missing(shards)
        done, total = len(shards) - len(missing), len(shards)
        self.on_event(EngineEvent(f"encoding {kind}s", done, total))
        if missing:
            for shard, content in self.encode(self.source, kind, coder, missing):
                encoded.write(shard, content)
                done += 1
                self.on_event(EngineEvent(f"encoding {kind}s", done, total))

    def _add(
        self,
        kind: PostKind,
        index: KeyIndex,
        encoded: ShardFolder,
        shards: list[Shard],
        unread: Set[str],
    ) -> None:
        for shard, content in zip(shards, encoded.read(shards), strict=True):
            self.on_event(EngineEvent(f"indexing {kind}s", shard.start, shards[-1].end))
            if shard.end <= index.position:  # indexed already, in part by a fast reader
                rows = [row for row, name in enumerate(content.ids) if name in unread]
                content = Encoded([content.ids[row] for row in rows], content.keys[rows], [])
            if content.deleted:
                index.remove(content.deleted)
            if content.ids:
                index.add_keys(content.ids, content.keys)
        index.position = shards[-1].end
        index.save()


def _encode_kinds(job: _Job, models: Path) -> None:
    manifest = read_manifest(models)
    kinds: dict[TaskName, PostKind] = {"questions": "question", "answers": "answer"}
    served = manifest.servings.items()
    servings = [(kinds[task], serving) for task, serving in served if serving.encoder]
    if not servings:
        raise NotAnEncoder("no encoder serves this archive; `askonce train` makes one")
    loader = Loader(job.archive, PostCache(job.archive), job.storage, job.on_event)
    for kind, serving in servings:
        coder = coder_of(serving, models)
        index = loader.keys(kind, coder, models.name)
        try:
            job.run(kind, coder, index)
        finally:
            index.close()
