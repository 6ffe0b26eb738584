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
NO_COLLECTION, NOT_LOADED = 100, 101  # error codes of Milvus
READ_SECONDS, WRITE_SECONDS = 3.0, 60.0  # timeouts
MAX_RESULTS = 16_384  # of one search, a limit of Milvus

_opening = threading.Lock()
_opened: dict[str, "Milvus"] = {}


def is_milvus(address: str) -> bool:
    """Whether an address names a Milvus database."""
    return address.endswith(SUFFIX) or address.startswith(SCHEMES)


class NotLoaded(IndexUnavailable):
    """A collection must be loaded before it can be searched, as after a restart of Milvus."""


class Milvus:
    """One database, shared by all indexes of a process at its address; the last one closes it."""

    def __init__(self, address: str) -> None:
        self.address, self._users = address, 0
        self.name = address.rpartition("@")[2]  # without user and password
        try:
            from pymilvus import MilvusClient

            if self.is_file:
                import milvus_lite  # noqa: F401 - pymilvus imports it later
        except ModuleNotFoundError as error:
            raise MissingExtra(str(error.name), "milvus", "an index on Milvus") from None
        for name in ("pymilvus", "milvus_lite"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are raised as well
        if self.is_file and not Path(address).absolute().parent.is_dir():
            raise AskonceError(f"no folder for the index {address!r}; create it first")
        with self.errors():
            self.client = MilvusClient(address, timeout=READ_SECONDS)
            version = self.client.get_server_version(timeout=READ_SECONDS)
        self.is_lite = "lite" in version
        self.seconds = WRITE_SECONDS if self.is_lite else READ_SECONDS  # milvus-lite is slow

    @classmethod
    def at(cls, address: str) -> "Milvus":
        """The database at an address; call ``close`` when it is no longer needed."""
        with _opening:
            if address not in _opened:
                _opened[address] = cls(address)
            _opened[address]._users += 1
            return _opened[address]

    @property
    def is_file(self) -> bool:
        """Whether the database is embedded in this process (milvus-lite)."""
        return self.address.endswith(SUFFIX)

    def close(self) -> None:
        """Release the database; the last user of a file lets another process open it."""
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
        """Create a collection with an index of its one vector field, ready to be searched."""
        params = self.client.prepare_index_params()
        params.add_index(field, **index)
        # a session sees its own writes at once
        self.client.create_collection(
            name, schema=schema, consistency_level="Session", timeout=WRITE_SECONDS
        )
        self.client.create_index(name, params, sync=False, timeout=WRITE_SECONDS)
        self.load(name)

    def load(self, *names: str) -> None:
        for name in names:
            self.client.load_collection(name, timeout=WRITE_SECONDS)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise errors of Milvus as ours: a missing collection, or no answer."""
        from grpc import FutureTimeoutError, RpcError
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except MilvusException as error:
            message = f"index {self.name!r}: {error.message.strip().partition(chr(10))[0][:200]}"
            if error.code == NO_COLLECTION:
                raise IndexDamaged(message) from error
            if error.code == NOT_LOADED:
                raise NotLoaded(message) from error
            if self.is_file and "Open local" in message:
                message = f"index {self.name!r} cannot be opened; another process may have it open"
            raise IndexUnavailable(message) from error
        except (RpcError, FutureTimeoutError) as error:
            raise IndexUnavailable(f"index {self.name!r} does not answer") from error
