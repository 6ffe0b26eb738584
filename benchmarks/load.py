"""Twice the load that a server can carry; and very many queries in a row.

    python benchmarks/load.py --seconds 120 --json F
    python benchmarks/load.py --queries 200000 --minutes 120 --json F
    python benchmarks/load.py --compare OLD/src --posts 17000 --json F

The first starts ``askonce serve`` on a generated forum with untrained models, raises the rate until
requests are refused or slow, sends twice the last good rate for --seconds, and looks at
latency and memory before and right after. Half of the requests are full asks, half are suggestions
while typing. The second asks one engine --queries times and compares its resident memory at the end
with that after the first twentieth; nine in ten queries are suggestions. If the minutes are over
first, it reports what was asked, and fails. The third serves the forum by an older version and by
this one in turns, each with an archive of its own making and random vectors, and prints a table:
asks and suggestions of eight clients, a burst of 300 asks, and ``/healthz`` beside 1,000 silent
connections and beside clients that never read.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import load_compare
from engine_probe import resident_mb, wait_until_idle
from forum import Forum
from forum_archive import make

if TYPE_CHECKING:
    import httpx

SLOW_MS = 300  # p99 of admitted requests
FIRST_RATE, FASTER, TRIES = 8.0, 1.4, 3
STEP = 5.0  # seconds of each step of the ramp
BACK = 1.1  # times the memory before
CALM = 0.3  # of the rate that can be carried, to look at latency before and after
ASK_EVERY = 10  # one query in this many is an ask, the others are suggestions


def main() -> None:
    """Measure, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120, help="of twice the load")
    parser.add_argument("--queries", type=int, help="instead: this many queries in one process")
    parser.add_argument("--minutes", type=float, default=120, help="that --queries may take")
    parser.add_argument("--compare", type=Path, help="the src folder of an older version")
    parser.add_argument("--count", type=int, default=200, help="requests of a kind in a round")
    parser.add_argument("--rounds", type=int, default=3, help="of each version to compare")
    parser.add_argument("--posts", type=int, default=5_000, help="questions of the forum")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    parser.add_argument("--folder", type=Path, help="keep the archive here, and use it again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch) / "forum.askonce"
        if options.compare:
            result = compare(folder, options)
        else:
            make(folder, options.posts, Path(scratch))
            if options.queries:
                result = in_a_row(folder, options.posts, options.queries, 60 * options.minutes)
            else:
                result = overload(folder, options.posts, options.seconds)
    text = json.dumps({"posts": options.posts, **result}, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")
    sys.exit(0 if result["passed"] else 1)


def compare(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Rounds of both versions in turns, each with an archive of its own making."""
    questions = options.posts
    sources = {
        "before": options.compare.resolve(),
        "now": Path(__file__).resolve().parents[1] / "src",
    }
    archives = {name: folder.with_name(f"{folder.stem}-{name}.askonce") for name in sources}
    for name, source in sources.items():
        say(f"making the archive of the version {name}")
        words = (Path(__file__).with_name("forum_archive.py"), archives[name], questions)
        command = [sys.executable, *map(str, words)]
        subprocess.run(command, check=True, stdout=sys.stderr, env=environment(source))
    rounds: dict[str, list[Any]] = {name: [] for name in sources}
    for number in range(options.rounds):
        for name, source in sources.items():
            say(f"round {number + 1} of {options.rounds}: {name}")
            with served(archives[name], source) as server:
                figures = load_compare.measure(
                    server.port, server.number, questions, number, options.count
                )
            rounds[name].append(figures)
    print(load_compare.table(rounds), file=sys.stderr)
    answered = [set(figures["asks"]["statuses"]) == {"200"} for figures in rounds["now"]]
    return {"rounds": rounds, "passed": all(answered)}


def environment(source: Path | None) -> dict[str, str] | None:
    """The environment of a process that runs the version in a src folder."""
    return {**os.environ, "PYTHONPATH": str(source)} if source else None


def overload(folder: Path, questions: int, seconds: float) -> dict[str, Any]:
    """Find the rate that the server sustains, then send twice that rate and measure."""
    with served(folder) as server:
        drive = Drive(server.port, questions)
        rate, steps = ramp(drive)
        before = drive(CALM * rate, STEP)
        memory = server.resident_mb()
        say(f"carries {rate:.1f}/s; {seconds:.0f} s of {2 * rate:.1f}/s")
        double = drive(2 * rate, seconds)
        after = drive(CALM * rate, STEP)
        memory_after = server.resident_mb()
    allowed = {"200", "429", "503"}
    return {
        "carried_per_s": round(rate, 1),
        "ramp": steps,
        "before": before,
        "double": double,
        "after": after,
        "memory_mb": {"before": memory, "after": memory_after, "highest": server.highest_mb},
        "passed": bool(
            set(double["statuses"]) <= allowed
            and not double["without_retry_after"]
            and double["admitted_ms"]["p99"] < SLOW_MS
            and set(after["statuses"]) == {"200"}
            and memory_after < BACK * memory
        ),
    }


def ramp(drive: "Drive") -> tuple[float, list[dict[str, Any]]]:
    """The highest rate at which next to nothing is refused or slow, and how each step went."""
    steps: list[dict[str, Any]] = []
    drive(FIRST_RATE, STEP)  # warms up
    rate, good, failed = FIRST_RATE, FIRST_RATE / 2, 0
    while failed < TRIES:  # a busy moment of the machine is no limit
        result = drive(rate, STEP)
        steps.append(shortened(result))
        if carried(result):
            rate, good, failed = rate * FASTER, rate, 0
        else:
            failed += 1
    return good, steps


def carried(result: dict[str, Any]) -> bool:
    """Whether the requests of a step were admitted and answered in time."""
    admitted = result["statuses"].get("200", 0)
    return admitted >= 0.99 * result["sent"] and result["admitted_ms"]["p99"] < SLOW_MS


def shortened(result: dict[str, Any]) -> dict[str, Any]:
    """A step of the ramp as the report shows it."""
    p99 = result["admitted_ms"].get("p99")
    return {"rate": result["rate"], "statuses": result["statuses"], "p99_ms": p99}


class Drive:
    """Sends requests from a process of its own; each call has other questions."""

    def __init__(self, port: int, questions: int) -> None:
        self._port, self._questions, self._calls = port, questions, 0

    def __call__(self, rate: float, seconds: float) -> dict[str, Any]:
        """What came back of this rate."""
        self._calls += 1
        say(f"{seconds:.0f} s of {rate:.1f}/s")
        words = [Path(__file__).with_name("open_loop.py"), self._port, rate, seconds]
        words += ["--questions", self._questions, "--seed", self._calls]
        command = [sys.executable, *map(str, words)]
        ran = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=120 + 4 * seconds)
        return json.loads(ran.stdout)


class Server:
    """A running ``askonce serve``."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.port, self.number, self._process = port, process.pid, process
        self.highest_mb = 0.0

    def resident_mb(self) -> float:
        """Its memory now; the highest so far is kept too."""
        self.highest_mb = load_compare.highest_mb(self.number)
        return load_compare.resident_mb(self.number)


@contextmanager
def served(folder: Path, source: Path | None = None) -> Iterator[Server]:
    """A server on a free port, once its models and posts are read; by a version's src folder."""
    command = [sys.executable, "-m", "askonce", "serve", str(folder), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(source))
    try:
        result = re.search(r":(\d+) ", process.stdout.readline())
        wait_for_models(int(result[1]))
        wait_until_idle(lambda: load_compare.processor_seconds(process.pid))
        yield Server(process, int(result[1]))
    finally:
        process.terminate()
        process.wait(60)


def wait_for_models(port: int) -> None:
    """Until the server ranks with its models."""
    import httpx

    end = time.monotonic() + 600
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        while client.get("/readyz").json().get("model") is None or not workers_ready(client):
            if time.monotonic() > end:
                raise SystemExit("the server does not load its models")
            time.sleep(0.1)


def workers_ready(client: "httpx.Client") -> bool:
    """Whether the processes beside the server, if it has any, answer as well."""
    found = re.search(r"^askonce_workers (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return found is None or float(found[1]) > 0


def in_a_row(folder: Path, questions: int, queries: int, most: float) -> dict[str, Any]:
    """Ask one engine so often, in ``most`` seconds; how its memory grew after a twentieth."""
    from askonce.engine import Engine

    forum = Forum(questions)
    warm, memory = max(1, queries // 20), resident_mb()
    asked = 0
    with Engine.open(folder, background=True) as engine:
        while engine.status().model is None:
            time.sleep(0.02)
        begin = time.perf_counter()
        while asked < queries and time.perf_counter() - begin < most:
            title, _, _ = forum.question(questions + 1 + asked)
            engine.ask(title) if asked % ASK_EVERY == 0 else engine.suggest(title)
            asked += 1
            if asked == warm:
                memory = resident_mb()
            if asked % 1000 == 0:
                say(f"{asked:,} of {queries:,} queries, {resident_mb():.0f} MB")
        at_the_end = resident_mb()
    grown = 100 * (at_the_end - memory) / memory
    seconds = time.perf_counter() - begin
    return {
        "queries": asked,
        "queries_per_s": round(asked / seconds, 1),
        "memory_mb": {"after_warm_up": round(memory, 1), "at_the_end": round(at_the_end, 1)},
        "memory_growth_percent": round(grown, 2),
        "passed": asked == queries and grown < 5,
    }


def say(text: str) -> None:
    """Tell how far it is."""
    print(f"\r{text:60}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
