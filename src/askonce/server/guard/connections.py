"""Which connections stay open: a limit in total and per address, below the limit of open files.

A connection is silent while it has no request under way: before its first request, between two,
or with half-sent headers. At a limit the longest silent one is closed, so that clients which do
send requests are always served.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from askonce.server.guard.rates import client_of

MAX_FILES = 65_536  # the limit of open files is raised up to this
RESERVED_FILES = 96  # for an archive, its indexes and its models
ACCEPTED_AT_ONCE = 64  # before any of them can be closed again
FEWEST = 16

Connection = TypeVar("Connection", bound=Hashable)


@dataclass(frozen=True)
class ConnectionSettings:
    """How many connections may be open, and how long a client may take."""

    total: int = 2048
    per_address: int = 1024
    header_seconds: float = 10.0  # from the first byte of a request to the end of its headers
    stall_seconds: float = 30.0  # without reading anything of the response
    keep_alive_seconds: float = 75.0  # longer than a proxy's, so that the proxy closes first

    @classmethod
    def below_file_limit(cls, archives: int = 1) -> "ConnectionSettings":
        """Limits that leave files for everything else; raises this process's limit first."""
        free = _file_limit() - RESERVED_FILES * archives - ACCEPTED_AT_ONCE
        total = max(FEWEST, min(cls.total, free))
        return cls(total, max(FEWEST, total // 2))


class OpenConnections(Generic[Connection]):
    """The open connections and their addresses, the silent ones in order of their last request."""

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = settings
        self._address: dict[Connection, str] = {}
        self._per_address: Counter[str] = Counter()
        self._silent: dict[Connection, None] = {}  # the longest silent first

    def __len__(self) -> int:
        return len(self._address)

    def add(self, connection: Connection, address: str) -> Connection | None:
        """Count a new connection; return the one to close, if there are too many now."""
        client = client_of(address)
        self._address[connection] = client
        self._per_address[client] += 1
        self._silent[connection] = None
        if self._per_address[client] > self._settings.per_address:
            return next(c for c in self._silent if self._address[c] == client)
        if len(self._address) > self._settings.total:
            return next(iter(self._silent))
        return None

    def set_busy(self, connection: Connection, busy: bool) -> None:
        if connection not in self._address:
            return
        if busy:
            self._silent.pop(connection, None)
        else:
            self._silent.setdefault(connection)

    def remove(self, connection: Connection) -> None:
        address = self._address.pop(connection, None)
        if address is None:
            return
        self._silent.pop(connection, None)
        self._per_address[address] -= 1
        if not self._per_address[address]:
            del self._per_address[address]


def _file_limit() -> int:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MAX_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return MAX_FILES if soft == resource.RLIM_INFINITY else soft
