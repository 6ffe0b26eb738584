"""Two versions of the server under the same requests, in turns, so that a busy machine is fair.

Used by load.py --compare. Processor time per request hardly depends on what else the machine does;
rates and latencies do, and are only to be compared with those of the other version.
"""

import asyncio
import os
import socket
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from forum import Forum
from open_loop import HOST, Driver, asks, quantiles, request, suggestions

CLIENTS, BURST, SILENT, SLOW, PROBES = 8, 300, 1000, 20, 50
TICKS = os.sysconf("SC_CLK_TCK")
HALF = b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\n"
HEALTH = request("/healthz")

Figures = dict[str, dict[str, Any]]


def measure(port: int, process: int, questions: int, seed: int, count: int) -> Figures:
    """One round: asks and suggestions one after the other, a burst, and bad clients."""
    forum = Forum(questions)
    figures: Figures = {}
    for name, sent in (("asks", asks), ("suggestions", suggestions)):
        asyncio.run(closed_loop(port, sent(forum, count, seed + 100)))  # warms up
        before, begin = processor_seconds(process), time.perf_counter()
        driver = asyncio.run(closed_loop(port, sent(forum, count, seed)))
        seconds, spent = time.perf_counter() - begin, processor_seconds(process) - before
        answered = driver.seen.statuses["200"]
        figures[name] = described(driver) | {
            "per_s": round(answered / seconds, 1),
            "processor_ms": round(1000 * spent / max(1, answered), 2),
            "load_average": round(os.getloadavg()[0], 1),
        }
    figures["burst"] = described(asyncio.run(at_once(port, asks(forum, BURST, seed + 200))))
    figures["burst"] |= {"resident_mb": resident_mb(process), "highest_mb": highest_mb(process)}
    for name, clients in (("silent", silent_clients), ("slow readers", slow_readers)):
        with clients(port):
            figures[f"health beside {name}"] = described(asyncio.run(probes(port)))
    return figures


def described(driver: Driver) -> dict[str, Any]:
    """What came back."""
    return {"statuses": dict(driver.seen.statuses), "ms": quantiles(driver.seen.admitted)}


async def closed_loop(port: int, sent: Sequence[bytes]) -> Driver:
    """Each client sends its next request when the last one is answered."""
    driver, waiting = Driver(HOST, port), list(sent)

    async def client() -> None:
        while waiting:
            await driver.ask(waiting.pop())

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    driver.close()
    return driver


async def at_once(port: int, sent: Sequence[bytes]) -> Driver:
    """All requests at the same moment."""
    driver = Driver(HOST, port)
    await asyncio.gather(*(driver.ask(target) for target in sent))
    driver.close()
    return driver


async def probes(port: int) -> Driver:
    """Questions after the server's health, each on a connection of its own."""
    driver = Driver(HOST, port)
    for _ in range(PROBES):
        await driver.ask(HEALTH)
        driver.close()
    return driver


@contextmanager
def silent_clients(port: int) -> Iterator[None]:
    """Connections with half-sent headers; a server may close them."""
    with ExitStack() as stack:
        for _ in range(SILENT):
            client = stack.enter_context(socket.create_connection((HOST, port), 30))
            client.sendall(HALF)
        yield


@contextmanager
def slow_readers(port: int) -> Iterator[None]:
    """Connections that never read what they asked for."""
    with ExitStack() as stack:
        for _ in range(SLOW):
            client = stack.enter_context(socket.create_connection((HOST, port), 30))
            client.sendall(50 * (HALF + b"\r\n"))
        yield


def processor_seconds(process: int) -> float:
    """What a process has used so far, of all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(process: int) -> float:
    """The memory of a process now."""
    return _memory_mb(process, "VmRSS")


def highest_mb(process: int) -> float:
    """The most memory that a process has had."""
    return _memory_mb(process, "VmHWM")


def _memory_mb(process: int, name: str) -> float:
    text = Path(f"/proc/{process}/status").read_text()
    return round(int(text.partition(f"{name}:")[2].split()[0]) / 1024, 1)


def table(rounds: Mapping[str, Sequence[Figures]]) -> str:
    """Medians over the rounds of each version as Markdown; statuses of all rounds together."""
    lines = [f"| | {' | '.join(rounds)} |", f"|---{'|---' * len(rounds)}|"]
    for name, first in next(iter(rounds.values()))[0].items():
        for key in UNITS:
            if key in first or key in first["ms"]:
                cells = [_median(of_version, name, key) for of_version in rounds.values()]
                lines.append(f"| {name}: {UNITS[key]} | {' | '.join(cells)} |")
        cells = [_statuses(of_version, name) for of_version in rounds.values()]
        lines.append(f"| {name}: responses | {' | '.join(cells)} |")
    return "\n".join(lines)


UNITS = {
    "per_s": "answered per second",
    "processor_ms": "processor time each, ms",
    "p50": "p50, ms",
    "p95": "p95, ms",
    "slowest": "slowest, ms",
    "resident_mb": "memory after it, MB",
    "highest_mb": "most memory so far, MB",
    "load_average": "load average of the machine",
}


def _median(rounds: Sequence[Figures], name: str, key: str) -> str:
    values = [(one[name] | one[name]["ms"]).get(key) for one in rounds]
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):g}" if known else ""


def _statuses(rounds: Sequence[Figures], name: str) -> str:
    total = sum((Counter(one[name]["statuses"]) for one in rounds), Counter())
    return ", ".join(f"{count} × {status}" for status, count in sorted(total.items()))
