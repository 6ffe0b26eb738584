"""A Milvus database: a file of the embedded milvus-lite, or a server or cluster by its address."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from askonce.errors import AskonceError, MissingExtra
from askonce.index.base import IndexDamaged, IndexUnavailable

SUFFIX = ".db"  # of a file of milvus-lite
SCHEMES = ("http://", "https://")
NO_COLLECTION, NOT_LOADED = 100, 101  # Milvus' codes
ASK_SECONDS, WRITE_SECONDS = 3.0, 60.0  # after which a Milvus that does not answer counts as lost
MOST = 16_384  # results of one search, as Milvus allows

_opening = threading.Lock()
_opened: dict[str, "Milvus"] = {}


def is_milvus(address: str) -> bool:
    """Whether an address is of a Milvus database."""
    return address.endswith(SUFFIX) or address.startswith(SCHEMES)


class NotLoaded(IndexUnavailable):
    """A Milvus that was started again has not been told yet to let a collection be searched."""


class Milvus:
    """One database. All indexes of a process that have its address share it; the last closes it."""

    def __init__(self, address: str) -> None:
        self.address, self._users = address, 0
        self.name = address.rpartition("@")[2]  # without user and password
        try:
            from pymilvus import MilvusClient

            if self.is_file:
                import milvus_lite  # noqa: F401 - pymilvus would miss it later
        except ModuleNotFoundError as error:
            raise MissingExtra(str(error.name), "milvus", "an index on Milvus") from None
        for name in ("pymilvus", "milvus_lite"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are told by who sees them
        if self.is_file and not Path(address).absolute().parent.is_dir():
            raise AskonceError(f"no folder for the index {address!r}; make it first")
        with self.told():
            self.client = MilvusClient(address, timeout=ASK_SECONDS)
            # milvus-lite keeps statistics of words for each of its segments and each filter apart
            version = self.client.get_server_version(timeout=ASK_SECONDS)
        self.is_lite = "lite" in version
        self.seconds = WRITE_SECONDS if self.is_lite else ASK_SECONDS  # milvus-lite is slow

    @classmethod
    def at(cls, address: str) -> "Milvus":
        """The database at an address; say ``close`` when it is no longer needed."""
        with _opening:
            if address not in _opened:
                _opened[address] = cls(address)
            _opened[address]._users += 1
            return _opened[address]

    @property
    def is_file(self) -> bool:
        """Whether it is embedded in this process."""
        return self.address.endswith(SUFFIX)

    def close(self) -> None:
        """Give it up; a file can be opened by another process when nobody uses it any more."""
        with _opening:
            self._users -= 1
            if self._users:
                return
            del _opened[self.address]
            self.client.close()
            if self.is_file:
                from milvus_lite.server_manager import server_manager_instance

                server_manager_instance.release_server(self.address)

    def create(self, name: str, schema: Any, field: str, **index: Any) -> None:  # noqa: ANN401
        """A new collection with an index of its one vector field, ready to be searched."""
        params = self.client.prepare_index_params()
        params.add_index(field, **index)
        # who writes sees it at once; others within the moment that Milvus needs
        self.client.create_collection(
            name, schema=schema, consistency_level="Session", timeout=WRITE_SECONDS
        )
        self.client.create_index(name, params, sync=False, timeout=WRITE_SECONDS)
        self.load(name)

    def load(self, *names: str) -> None:
        """Let collections be searched."""
        for name in names:
            self.client.load_collection(name, timeout=WRITE_SECONDS)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Errors of Milvus as ours: a lost collection, or a database that does not answer."""
        from grpc import FutureTimeoutError, RpcError
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except MilvusException as error:
            said = f"index {self.name!r}: {error.message.strip().partition(chr(10))[0][:200]}"
            if error.code == NO_COLLECTION:
                raise IndexDamaged(said) from error
            if error.code == NOT_LOADED:
                raise NotLoaded(said) from error
            if self.is_file and "Open local" in said:
                said = f"index {self.name!r} cannot be opened; another process may have it open"
            raise IndexUnavailable(said) from error
        except (RpcError, FutureTimeoutError) as error:
            raise IndexUnavailable(f"index {self.name!r} does not answer") from error
