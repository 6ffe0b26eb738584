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
CORES = os.cpu_count() or 1
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
            "most_per_s": round(CORES * answered / max(spent, 1 / TICKS), 1),
            "load_average": round(os.getloadavg()[0], 1),
        }
    figures["burst"] = described(asyncio.run(at_once(port, asks(forum, BURST, seed + 200))))
    figures["burst"] |= memory(process)
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
    """What a process and its workers have used so far, of all their threads."""
    fields = [
        Path(f"/proc/{one}/stat").read_text().rpartition(") ")[2].split()
        for one in with_workers(process)
    ]
    return sum(int(one[11]) + int(one[12]) for one in fields) / TICKS


def with_workers(process: int) -> list[int]:
    """A process and its children."""
    threads = Path(f"/proc/{process}/task").glob("*/children")
    return [process, *(int(child) for path in threads for child in path.read_text().split())]


def memory(process: int) -> dict[str, float]:
    """Of a server with its workers; what they share counts once in the sum."""
    every = with_workers(process)
    shares = [_memory_mb(one, "smaps_rollup", "Pss") for one in every]
    return {
        "shared_mb": round(sum(shares), 1),
        "process_mb": max(resident_mb(one) for one in every),
    }


def resident_mb(process: int) -> float:
    """The memory of a process now."""
    return _memory_mb(process, "status", "VmRSS")


def highest_mb(process: int) -> float:
    """The most memory that a process has had."""
    return _memory_mb(process, "status", "VmHWM")


def _memory_mb(process: int, file: str, name: str) -> float:
    text = Path(f"/proc/{process}/{file}").read_text()
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
    "most_per_s": f"at most per second by it, on {CORES} cores",
    "p50": "p50, ms",
    "p95": "p95, ms",
    "slowest": "slowest, ms",
    "shared_mb": "memory after it of all processes, MB",
    "process_mb": "of the largest process, MB",
    "load_average": "load average of the machine",
}


def _median(rounds: Sequence[Figures], name: str, key: str) -> str:
    values = [(one[name] | one[name]["ms"]).get(key) for one in rounds]
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):g}" if known else ""


def _statuses(rounds: Sequence[Figures], name: str) -> str:
    total = sum((Counter(one[name]["statuses"]) for one in rounds), Counter())
    return ", ".join(f"{count} × {status}" for status, count in sorted(total.items()))
