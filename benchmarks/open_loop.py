"""Send requests at a rate that does not wait for answers, as many users together do.

A request finds an idle connection or opens a new one; latency counts from then to the last byte.
Used by load.py in a process of its own; prints JSON.
"""

import argparse
import asyncio
import contextlib
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import quote

import numpy as np
from forum import Forum

HOST = "127.0.0.1"
PATIENCE = 20  # seconds for one answer

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Seen:
    """What came back."""

    admitted: list[float] = field(default_factory=list)  # milliseconds
    refused: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)  # how long after its moment each was sent
    statuses: Counter[str] = field(default_factory=Counter)
    without_retry_after: int = 0
    connections: int = 0


class Driver:
    """Sends to one server over as many connections as it takes."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.seen = Seen()
        self._idle: list[Connection] = []

    async def run(self, targets: list[bytes], rate: float, seed: int) -> Seen:
        """Send all, at random moments with this mean rate."""
        gaps = np.random.default_rng(seed).exponential(1 / rate, len(targets))
        begin = time.perf_counter()
        tasks = []
        for due, target in zip(np.cumsum(gaps).tolist(), targets, strict=True):
            wait = begin + due - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            self.seen.late.append(1000 * (time.perf_counter() - begin - due))
            tasks.append(asyncio.create_task(self.ask(target)))
        await asyncio.gather(*tasks)
        self.close()
        return self.seen

    def close(self) -> None:
        """Close all idle connections; the next request opens a new one."""
        while self._idle:
            self._idle.pop()[1].close()

    async def ask(self, target: bytes) -> None:
        """Send one request and note what came back."""
        begin = time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE):
                status, headers = await self._answer(target)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError) as error:
            self.seen.statuses[type(error).__name__] += 1
            return
        took = 1000 * (time.perf_counter() - begin)
        self.seen.statuses[status] += 1
        if status == "200":
            self.seen.admitted.append(took)
        elif status in ("429", "503"):
            self.seen.refused.append(took)
            self.seen.without_retry_after += b"\r\nretry-after: " not in headers

    async def _answer(self, target: bytes) -> tuple[str, bytes]:
        if self._idle:
            reader, writer = self._idle.pop()
        else:
            reader, writer = await asyncio.open_connection(self.host, self.port)
            self.seen.connections += 1
        try:
            writer.write(target)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
        except BaseException:
            writer.close()
            raise
        self._idle.append((reader, writer))
        return head.split(b" ", 2)[1].decode(), head


def request(path: str, body: object = None) -> bytes:
    """A GET request, or a POST of JSON."""
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nhost: {HOST}\r\n"
    if body is not None:
        head += f"content-type: application/json\r\ncontent-length: {len(content)}\r\n"
    return f"{head}\r\n".encode() + content


def asks(forum: Forum, count: int, seed: int) -> list[bytes]:
    """Full asks of questions that the forum does not hold."""
    return [request("/api/ask?q=" + quote(title)) for title in titles(forum, count, 2 * seed)]


def suggestions(forum: Forum, count: int, seed: int) -> list[bytes]:
    """The same while they are typed, as the page sends them."""
    every = titles(forum, count, 2 * seed + 1)
    return [request("/api/duplicates", {"title": title, "k": 5}) for title in every]


def titles(forum: Forum, count: int, seed: int) -> list[str]:
    """Titles of questions that the forum does not hold."""
    first = forum.questions + 1 + seed * 1_000_000
    return [forum.question(first + number)[0] for number in range(count)]


def quantiles(values: list[float]) -> dict[str, float]:
    """Median, p95, p99 and the slowest, in milliseconds."""
    if not values:
        return {}
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "slowest": 1.0}
    return {name: round(float(np.quantile(values, at)), 1) for name, at in shares.items()}


def main() -> None:
    """Send, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("port", type=int)
    parser.add_argument("rate", type=float)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--questions", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    forum, count = Forum(options.questions), max(10, int(options.rate * options.seconds / 2))
    both = (send(forum, count, options.seed) for send in (asks, suggestions))
    asked = [target for pair in zip(*both, strict=True) for target in pair]
    driver = Driver(HOST, options.port)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(driver.run(asked, options.rate, options.seed))
    seen = driver.seen
    result = {
        "rate": round(options.rate, 1),
        "sent": len(seen.late),
        "statuses": dict(seen.statuses),
        "without_retry_after": seen.without_retry_after,
        "admitted_ms": quantiles(seen.admitted),
        "refused_ms": quantiles(seen.refused),
        "sent_late_ms": quantiles(seen.late),
        "connections": seen.connections,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
