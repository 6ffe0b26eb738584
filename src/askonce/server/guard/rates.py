"""Rate limits per client address."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address

from fastapi import HTTPException

MAX_CLIENTS = 10_000  # buckets in memory; the least recently used is dropped first
BURST_SECONDS = 2.0  # worth of requests that may arrive at once


class Rates:
    """A token bucket for each client address."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self._clock = rate, clock
        self._capacity = max(1.0, rate * BURST_SECONDS)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, time

    def check(self, address: str) -> None:
        """Count one request; 429 when the client's bucket is empty."""
        if not self.rate:
            return
        client, now = client_of(address), self._clock()
        tokens, updated = self._buckets.pop(client, (self._capacity, now))
        tokens = min(self._capacity, tokens + (now - updated) * self.rate)
        self._buckets[client] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        if tokens < 1:
            wait = math.ceil((1 - tokens) / self.rate)
            message = f"more than {self.rate:g} requests per second from {address}; try again later"
            raise HTTPException(429, message, {"Retry-After": str(wait)})


def client_of(address: str) -> str:
    """An IPv6 client can use any address of its /64 network, so the network is the client."""
    parsed = parse_address(address)
    return str(int(parsed) >> 64) if isinstance(parsed, IPv6Address) else address


def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """The IP address of a text; None if it is a name."""
    try:
        return ip_address(text)
    except ValueError:
        return None
