"""Where the indexes of an archive live: a folder, memory, or a Milvus database by its address."""

import hashlib
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from askonce.errors import AskonceError
from askonce.index.base import Index, KeyEncoder, KeyIndex, WordIndex
from askonce.index.lexical import LexicalIndex
from askonce.index.milvus.client import Milvus, is_milvus
from askonce.types import PostKind

_KINDS = "(questions|answers)"
Turn = Callable[[str], AbstractContextManager[None]]  # of one server, by what is changed


class IndexStorage(Protocol):
    """Opens the indexes of one archive; only a writable home makes or mends them."""

    @property
    def writable(self) -> bool:
        """Whether this process may change the indexes."""

    def words(self, kind: PostKind, anew: bool = False) -> WordIndex:
        """The index of a kind of posts by their words; ``anew`` throws what is there away."""

    def keys(self, kind: PostKind, coder: KeyEncoder, models: str, anew: bool = False) -> KeyIndex:
        """The index of a kind of posts by the keys of a training's encoder."""

    def keep_only(self, models: str, before: str | None) -> None:
        """Remove the keys of all trainings but this one; ``before`` is the one that it follows."""

    def clear(self) -> None:
        """Throw all indexes away."""

    def changing(self, indexes: Sequence[Index], turn: Turn) -> AbstractContextManager[None]:
        """Around a change of indexes: no other server changes them, and it is kept at the end."""


def index_storage(
    address: str | None, folder: Path | None, archive: str, writable: bool
) -> IndexStorage:
    """The home at an address; without one the folder, and without that, memory.

    A file that ends in .db is one of milvus-lite, http:// a Milvus server or cluster.
    """
    if address is None:
        return FolderStorage(folder, writable)
    if is_milvus(address):
        return MilvusStorage(address, archive, writable)
    shown = address.rpartition("@")[2]  # without user and password
    raise AskonceError(
        f"no index at {shown!r}; expected a file for milvus-lite, such as posts.db, "
        "or the http:// address of Milvus"
    )


@dataclass(frozen=True)
class FolderStorage:
    """The embedded indexes, each in a folder of its own, or all in memory."""

    folder: Path | None
    writable: bool = True

    def words(self, kind: PostKind, anew: bool = False) -> LexicalIndex:
        """The BM25 index of a kind of posts."""
        return LexicalIndex(self._place(f"lexical-{kind}s", anew), writer=self.writable)

    def keys(self, kind: PostKind, coder: KeyEncoder, models: str, anew: bool = False) -> KeyIndex:
        """The vectors of a kind of posts."""
        from askonce.index.vectors import VectorIndex

        place = self._place(f"vectors-{kind}s-{models}", anew)
        return VectorIndex(place, coder, writer=self.writable)

    def keep_only(self, models: str, before: str | None) -> None:
        """Remove the vectors of other trainings."""
        if self.folder is not None and self.writable:
            for place in self.folder.glob("vectors-*"):
                if not place.name.endswith(f"-{models}"):
                    shutil.rmtree(place, ignore_errors=True)

    def clear(self) -> None:
        """Remove the folders."""
        if self.folder is not None and self.folder.is_dir():
            for place in filter(Path.is_dir, list(self.folder.iterdir())):
                shutil.rmtree(place, ignore_errors=True)

    @contextmanager
    def changing(self, indexes: Sequence[Index], turn: Turn) -> Iterator[None]:
        """Words are kept at once; to put vectors on the disk after each post would cost too much.

        The folder's lock has made sure that nobody else changes them.
        """
        yield
        for index in indexes:
            if isinstance(index, LexicalIndex):
                index.save()

    def _place(self, name: str, anew: bool) -> Path | None:
        place = self.folder / name if self.folder is not None else None
        if anew and place is not None:
            shutil.rmtree(place, ignore_errors=True)
        return place


@dataclass(frozen=True)
class MilvusStorage:
    """Indexes in a Milvus database, which several archives and servers may share."""

    address: str
    archive: str
    writable: bool = True

    def words(self, kind: PostKind, anew: bool = False) -> WordIndex:
        """The words of a kind of posts, weighed by Milvus' BM25."""
        from askonce.index.milvus.words import MilvusWords

        return MilvusWords(self.address, self._name(f"words_{kind}s", anew), writer=self.writable)

    def keys(self, kind: PostKind, coder: KeyEncoder, models: str, anew: bool = False) -> KeyIndex:
        """The keys of a kind of posts; other weights have another collection."""
        from askonce.index.milvus.keys import MilvusKeys

        made = hashlib.sha256(coder.name.encode()).hexdigest()[:12]
        name = self._name(f"keys_{kind}s_{models}_{made}", anew)
        return MilvusKeys(self.address, name, coder, writer=self.writable)

    def keep_only(self, models: str, before: str | None) -> None:
        """Remove the keys of other trainings; a server that has not come so far needs the last."""
        if self.writable:
            kept = "|".join(map(re.escape, filter(None, (models, before))))
            self._drop(rf"keys_{_KINDS}_(?!({kept})_[0-9a-f]+$).+")

    def clear(self) -> None:
        """Drop the collections of the archive."""
        self._drop(rf"(words_{_KINDS}|keys_{_KINDS}_.+)")

    @contextmanager
    def changing(self, indexes: Sequence[Index], turn: Turn) -> Iterator[None]:
        """One server after the other goes on from where the last one came to."""
        from askonce.index.milvus.collection import MilvusCollection

        with ExitStack() as turns:
            for collection in cast(Sequence[MilvusCollection], indexes):
                turns.enter_context(turn(collection.name))
                collection.reload()
            yield
            for index in indexes:
                index.save()

    def _name(self, part: str, anew: bool = False) -> str:
        if anew:
            self._drop(re.escape(part))
        return self._prefix + part

    @property
    def _prefix(self) -> str:
        """What the names of the archive's collections begin with, in letters that Milvus takes."""
        plain = re.sub(r"[^a-zA-Z0-9]", "_", self.archive)
        if plain != self.archive:  # others may look the same then
            plain += f"_{zlib.crc32(self.archive.encode()):08x}"
        return f"askonce_{plain}_"

    def _drop(self, parts: str) -> None:
        """Drop those of the archive's collections whose names go on like this pattern."""
        from askonce.index.milvus.collection import drop

        unwanted = re.compile(re.escape(self._prefix) + parts)
        milvus = Milvus.at(self.address)
        try:
            with milvus.told():
                for name in milvus.client.list_collections(timeout=milvus.seconds):
                    if unwanted.fullmatch(name):
                        drop(milvus, name)
        finally:
            milvus.close()
