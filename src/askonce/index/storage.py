"""Where the indexes of an archive are stored: a folder, memory, or a Milvus database."""

import hashlib
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from askonce.errors import AskonceError
from askonce.index.base import Index, KeyEncoder, KeyIndex, WordIndex
from askonce.index.lexical import LexicalIndex
from askonce.index.milvus.client import Milvus, is_milvus
from askonce.types import PostKind

_KINDS = "(questions|answers)"
Turn = Callable[[str], AbstractContextManager[None]]  # holds a lock by name among all servers


class IndexStorage(Protocol):
    """Opens the indexes of one archive; only writable storage creates or repairs them."""

    @property
    def writable(self) -> bool:
        """Whether this process may change the indexes."""

    @property
    def open_indexes_survive_clear(self) -> bool:
        """Whether open indexes can still be searched after ``clear``."""

    def words(self, kind: PostKind, rebuild: bool = False) -> WordIndex:
        """The index of a kind of posts by their words; ``rebuild`` discards the present one."""

    def keys(
        self, kind: PostKind, coder: KeyEncoder, models: str, rebuild: bool = False
    ) -> KeyIndex:
        """The index of a kind of posts by the keys of the encoder of a training."""

    def keep_only(self, models: str, previous: str | None) -> None:
        """Remove the keys of all trainings but this one; ``previous`` may still be in use."""

    def clear(self) -> None: ...


@contextmanager
def changing(indexes: Sequence[Index], turn: Turn) -> Iterator[None]:
    """Change indexes while no other server does; afterwards those that save cheaply are saved."""
    with ExitStack() as turns:
        for index in indexes:
            if index.lock_name is not None:
                turns.enter_context(turn(index.lock_name))
                index.reload()  # continue from where the last server stopped
        yield
        for index in indexes:
            if index.cheap_to_save:
                index.save()


def index_storage(
    address: str | None, folder: Path | None, archive: str, writable: bool
) -> IndexStorage:
    """The storage at an address; without one the folder, and without that, memory.

    A file name that ends in .db is milvus-lite, http:// a Milvus server or cluster.
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
    open_indexes_survive_clear = True  # removed files stay readable while they are open

    def words(self, kind: PostKind, rebuild: bool = False) -> WordIndex:
        folder = self._path(f"lexical-{kind}s", rebuild)
        return LexicalIndex(folder, writer=self.writable, forgiving=True)

    def keys(
        self, kind: PostKind, coder: KeyEncoder, models: str, rebuild: bool = False
    ) -> KeyIndex:
        from askonce.index.vectors import VectorIndex

        path = self._path(f"vectors-{kind}s-{models}", rebuild)
        return VectorIndex(path, coder, writer=self.writable)

    def keep_only(self, models: str, previous: str | None) -> None:
        if self.folder is not None and self.writable:
            for path in self.folder.glob("vectors-*"):
                if not path.name.endswith(f"-{models}"):
                    shutil.rmtree(path, ignore_errors=True)

    def clear(self) -> None:
        if self.folder is not None and self.folder.is_dir():
            for path in filter(Path.is_dir, list(self.folder.iterdir())):
                shutil.rmtree(path, ignore_errors=True)

    def _path(self, name: str, rebuild: bool) -> Path | None:
        path = self.folder / name if self.folder is not None else None
        if rebuild and path is not None:
            shutil.rmtree(path, ignore_errors=True)
        return path


@dataclass(frozen=True)
class MilvusStorage:
    """Indexes in a Milvus database, which several archives and servers may share."""

    address: str
    archive: str
    writable: bool = True
    open_indexes_survive_clear = False

    def words(self, kind: PostKind, rebuild: bool = False) -> WordIndex:
        from askonce.index.milvus.words import MilvusWords

        name = self._name(f"words_{kind}s", rebuild)
        return MilvusWords(self.address, name, writer=self.writable)

    def keys(
        self, kind: PostKind, coder: KeyEncoder, models: str, rebuild: bool = False
    ) -> KeyIndex:
        """The keys of a kind of posts; other weights have another collection."""
        from askonce.index.milvus.keys import MilvusKeys

        weights = hashlib.sha256(coder.name.encode()).hexdigest()[:12]
        name = self._name(f"keys_{kind}s_{models}_{weights}", rebuild)
        return MilvusKeys(self.address, name, coder, writer=self.writable)

    def keep_only(self, models: str, previous: str | None) -> None:
        """Servers that have not loaded this training yet still search the previous one."""
        if self.writable:
            keep = "|".join(map(re.escape, filter(None, (models, previous))))
            self._drop(rf"keys_{_KINDS}_(?!({keep})_[0-9a-f]+$).+")

    def clear(self) -> None:
        self._drop(rf"(words_{_KINDS}|keys_{_KINDS}_.+)")

    def _name(self, suffix: str, rebuild: bool = False) -> str:
        if rebuild:
            self._drop(re.escape(suffix))
        return self._prefix + suffix

    @property
    def _prefix(self) -> str:
        """The prefix of the archive's collections, in characters that Milvus accepts."""
        plain = re.sub(r"[^a-zA-Z0-9]", "_", self.archive)
        if plain != self.archive:  # another name may map to the same
            plain += f"_{zlib.crc32(self.archive.encode()):08x}"
        return f"askonce_{plain}_"

    def _drop(self, suffixes: str) -> None:
        """Drop the archive's collections whose suffix matches this pattern."""
        from askonce.index.milvus.collection import drop

        unwanted = re.compile(re.escape(self._prefix) + suffixes)
        milvus = Milvus.at(self.address)
        try:
            with milvus.errors():
                for name in milvus.client.list_collections(timeout=milvus.seconds):
                    if unwanted.fullmatch(name):
                        drop(milvus, name)
        finally:
            milvus.close()
