"""The host names under which the server answers.

The page of another site can point its own name at this machine (DNS rebinding) and then read what
the server answers, unless the server looks at the name in the request.
"""

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from askonce.server.guard.keys import is_loopback
from askonce.server.guard.rates import parse_address

ANY = "*"


@dataclass(frozen=True)
class AllowedHosts:
    """Loopback names, ``names`` and, with ``addresses``, every IP address."""

    names: frozenset[str] = frozenset()
    addresses: bool = False

    @classmethod
    def bound_to(cls, address: str, others: Iterable[str] = ()) -> "AllowedHosts":
        """For a server that listens on an address, under these other names too; '*' allows all."""
        names = {address, *others}
        everywhere = address in ("0.0.0.0", "::")
        if everywhere:
            names.add(socket.gethostname())
        return cls(frozenset(map(_canonical, names)), everywhere)

    def allow(self, header: str) -> bool:
        """Whether to answer a request with this ``Host`` header."""
        if ANY in self.names:
            return True
        try:
            name = _canonical(urlsplit(f"//{header}").hostname or "")
        except ValueError:
            return False
        is_address = self.addresses and parse_address(name) is not None
        return is_loopback(name) or name in self.names or is_address


def _canonical(name: str) -> str:
    return name.strip("[]").rstrip(".").lower()
