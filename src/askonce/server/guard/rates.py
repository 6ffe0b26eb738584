"""How often one client may call."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from fastapi import HTTPException

CLIENTS = 10_000  # whose counts are kept; the one that was silent longest is forgotten first
BURST = 2.0  # seconds' worth of requests that may come at once


class Rates:
    """A token bucket for each client address."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self._clock = rate, clock
        self._full = max(1.0, rate * BURST)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, when

    def check(self, address: str) -> None:
        """Count one request; 429 when the client's bucket is empty."""
        if not self.rate:
            return
        client, now = _client(address), self._clock()
        tokens, before = self._buckets.pop(client, (self._full, now))
        tokens = min(self._full, tokens + (now - before) * self.rate)
        self._buckets[client] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > CLIENTS:
            self._buckets.popitem(last=False)
        if tokens < 1:
            wait = math.ceil((1 - tokens) / self.rate)
            message = f"more than {self.rate:g} requests per second from {address}; slow down"
            raise HTTPException(429, message, {"Retry-After": str(wait)})


def _client(address: str) -> str:
    """An IPv6 client has a whole /64 to call from."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(int(parsed) >> 64)
    return address
