"""Kill -9 at random moments of importing, adding, editing, deleting and indexing: what is lost?

    python benchmarks/faults.py --kills 200 --json F

A small archive with a small encoder lives through all kills. Each time a process writes to it and
says after each write that it was acknowledged, until it is killed at a random moment. Then the
archive is opened as after any restart, and compared with what was acknowledged: the write that was
under way may be there as a whole or not at all, and is repeated as a client would. All indexes on
the disk must hold exactly the posts of the archive. ``serving`` is a real server, killed while a
client writes over HTTP. Transactions of an import and files of vectors are made small, so that
kills fall between their steps too.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # also: a process that is forked must have one thread

import argparse
import http.client
import json
import pickle
import random
import select
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path

import numpy as np
import uvicorn
from fault_checks import differences
from fault_truth import WORDS, Author, Op, Truth

from askonce import cli, ranker_folder, server
from askonce.archive import Archive, load
from askonce.engine import Engine
from askonce.importers import Source
from askonce.importers.jsonl import read
from askonce.index import vectors
from askonce.ranker import Ranker
from askonce.serving.manifest import Manifest, Serving, new_folder, write_manifest
from askonce.text.lexicon import Lexicon
from askonce.types import Post

OPERATIONS = ("importing", "adding", "editing", "deleting", "indexing", "serving")
WRITES = ("adding", "editing", "deleting")
POSTS, WRITES_PLANNED = 500, 30
LOADING = import_module("askonce.archive.load")  # the package shows its function by this name
PRELOADED = (uvicorn, server, ranker_folder)  # a forked process need not load them again
LOG = os.memfd_create("log")  # of all processes
SLOWEST = 120.0  # seconds that any process may take

Task = Callable[[int], None]  # gets the end of a pipe to tell of each acknowledged write


@dataclass
class Report:
    """What the kills did."""

    kills: int = 0
    by_operation: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OPERATIONS, 0))
    acknowledged: int = 0  # writes
    under_way_kept: int = 0  # not acknowledged, but there
    under_way_gone: int = 0
    lost: int = 0  # posts that are not as an acknowledged write left them
    doubled: int = 0  # changes or revisions that nobody made
    half: int = 0  # archives that no number of whole writes explains
    index_differences: int = 0
    failures: int = 0  # processes that ended with an error by themselves
    examples: list[str] = field(default_factory=list)
    finished: int = 0  # done before the kill came; not counted as kills
    seconds: float = 0.0


@dataclass
class Found:
    """What a check says of one restart."""

    truth: Truth
    done: int = 0  # writes of the plan that are there
    lost: int = 0
    doubled: int = 0
    half: int = 0
    differences: list[str] = field(default_factory=list)


def main() -> None:
    """Kill, check, print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60, help="stop after this time")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    options = parser.parse_args()
    LOADING.BATCH, vectors.FEW_DEAD = 40, 30
    with tempfile.TemporaryDirectory() as scratch:
        trial = Trial(Path(scratch), options.seed)
        report = trial.run(options.kills, 60 * options.minutes)
    text = json.dumps(asdict(report), indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")
    wrong = report.lost + report.doubled + report.half + report.index_differences + report.failures
    sys.exit(1 if wrong or report.kills < options.kills else 0)


class Trial:
    """One archive, and what it must hold."""

    def __init__(self, scratch: Path, seed: int) -> None:
        self.folder, self.dump = scratch / "forum.askonce", scratch / "dump.jsonl"
        self.author, self.random = Author(seed), random.Random(seed)
        self.report = Report()
        first = self.author.add(POSTS)
        self.truth = in_process(lambda: prepare(self.folder, first))
        self._longest = dict.fromkeys(OPERATIONS, 1.0)  # seconds of a whole operation

    def run(self, kills: int, seconds: float) -> Report:
        """So many kills, each operation in turn, within the time."""
        begin = time.monotonic()
        for operation in OPERATIONS:
            self.cycle(operation, kill=False)
        while self.report.kills < kills and time.monotonic() - begin < seconds:
            self.cycle(OPERATIONS[self.report.kills % len(OPERATIONS)])
            self.report.seconds = round(time.monotonic() - begin, 1)
            self._show(kills)
        print(file=sys.stderr)
        return self.report

    def cycle(self, operation: str, kill: bool = True) -> None:
        """Start an operation, kill it, restart and compare."""
        plan = self._plan(operation)
        after = self.random.uniform(0, self._longest[operation]) if kill else SLOWEST
        outcome = self._outcome(operation, plan, after)
        report = self.report
        if outcome.killed:
            report.kills += 1
            report.by_operation[operation] += 1
        else:
            self._longest[operation] = outcome.seconds
            report.finished += kill
        if outcome.code:
            self._wrong(operation, f"ended with code {outcome.code}: {last_line()}")
            report.failures += 1
        acknowledged = len(plan) if outcome.whole else outcome.acknowledged
        report.acknowledged += acknowledged
        steps = self.truth.steps(plan)
        found = in_process(lambda: self._check(operation, steps, plan, acknowledged))
        self._note(operation, found, acknowledged, under_way=acknowledged < len(plan))

    def _plan(self, operation: str) -> list[Op]:
        if operation == "importing":
            return self._import_plan()
        kinds = WRITES if operation in ("serving", "indexing") else (operation,)
        length = 60 if operation == "indexing" else WRITES_PLANNED
        return list(self.author.series(self.truth, kinds, length))

    def _import_plan(self) -> list[Op]:
        """A dump with edits and as many new posts as are lacking, as the writes of its import."""
        edited = self.author.edit(self.truth, 150).posts
        fresh = self.author.add(max(50, POSTS - len(self.truth.posts))).posts
        posts = sorted((*edited, *fresh), key=lambda post: post.kind, reverse=True)
        lines = [json.dumps(asdict(post)) for post in posts]
        self.dump.write_text("\n".join(lines) + "\n")
        size = LOADING.BATCH
        return [Op(tuple(posts[n : n + size])) for n in range(0, len(posts), size)]

    def _outcome(self, operation: str, plan: Sequence[Op], after: float) -> "Outcome":
        if operation == "importing":
            words = ("import", "jsonl", self.dump, "--into", self.folder)
            return started(lambda journal: command(journal, *words)).until_killed(after)
        if operation == "indexing":
            words = ("index", self.folder, *(["--rebuild"] * self.random.randint(0, 1)))

            def index(journal: int) -> None:
                write_all(Archive.open(self.folder), plan, journal)
                command(journal, *words)

            return started(index).until_killed(after, begins=len(plan))
        if operation == "serving":
            port = free_port()
            words = ("serve", self.folder, "--port", port)
            serving = started(lambda journal: command(journal, *words))
            client = started(lambda j: write_over_http(port, serving.number, plan, j))
            return client.until_killed(after, instead=serving)
        return started(lambda j: write_all(Engine.open(self.folder), plan, j)).until_killed(after)

    def _check(
        self, operation: str, steps: Sequence[Truth], plan: Sequence[Op], acknowledged: int
    ) -> Found:
        """In a process of its own: open, compare, repeat what was under way, compare again."""
        with Engine.open(self.folder, exclusive=True) as engine:
            archive = engine.archive
            held = Truth.of(archive)
            # an import does not tell of its writes, so any number of them may be done
            last = len(plan) if operation == "importing" else min(acknowledged + 1, len(plan))
            possible = [n for n in range(acknowledged, last + 1) if steps[n] == held]
            if not possible:
                return compared(held, steps[acknowledged : last + 1])
            done = possible[-1]
            if operation == "importing":
                load(archive, read(Source(self.dump)), strict=True)
                engine.refresh()
                steps = [steps[-1]]
            elif done < len(plan):
                for _ in range(2):
                    apply(engine, plan[done])
                steps = [steps[done + 1]]
            else:
                steps = [steps[-1]]
            found = compared(Truth.of(archive), steps)
            found.done = done
        found.differences = differences(self.folder)
        return found

    def _note(self, operation: str, found: Found, acknowledged: int, under_way: bool) -> None:
        report, self.truth = self.report, found.truth
        if under_way and found.done > acknowledged:
            report.under_way_kept += 1
        elif under_way:
            report.under_way_gone += 1
        report.lost += found.lost
        report.doubled += found.doubled
        report.half += found.half
        report.index_differences += len(found.differences)
        if found.lost or found.doubled or found.half:
            self._wrong(operation, f"{found.lost} lost, {found.doubled} doubled")
        for difference in found.differences[:3]:
            self._wrong(operation, difference)

    def _wrong(self, operation: str, what: str) -> None:
        self.report.examples.append(f"kill {self.report.kills}, {operation}: {what}")

    def _show(self, kills: int) -> None:
        r = self.report
        print(
            f"\r{r.kills}/{kills} kills, {r.acknowledged} writes acknowledged, {r.lost} lost, "
            f"{r.doubled} doubled, {r.half} half, {r.index_differences} index differences, "
            f"{r.failures} failures, {r.seconds:.0f} s ",
            end="",
            file=sys.stderr,
        )


# -- processes ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """How a process ended, and how many of its writes it said were acknowledged."""

    acknowledged: int
    killed: bool
    code: int
    seconds: float  # from where the moment of the kill is counted

    @property
    def whole(self) -> bool:
        """Whether it ended by itself and well."""
        return not self.killed and self.code == 0


@dataclass(frozen=True)
class Process:
    """A forked process, and the pipe through which it tells of acknowledged writes."""

    number: int
    journal: int

    def until_killed(
        self, after: float, begins: int = 0, instead: "Process | None" = None
    ) -> Outcome:
        """Kill it, or the other one, so long after it told of so many writes."""
        told = self._wait_for(begins)
        target, begin = instead or self, time.monotonic()
        while time.monotonic() - begin < after and not target.ended() and not self.ended():
            time.sleep(min(0.002, after))
        seconds = time.monotonic() - begin
        mine = self.ended()
        if seconds > SLOWEST and not mine:
            raise SystemExit("a process does not end")
        killed, code = False, 0
        if instead is not None and mine:  # the client is done before its server was killed
            instead.end(signal.SIGTERM)
            code = instead.code()
        else:
            killed, code = target.end(signal.SIGKILL), target.code()
            self.code() if instead is not None else 0
        told += self._rest()
        return Outcome(told, killed, 0 if killed else code, seconds)

    def ended(self) -> bool:
        """Whether it is done; it stays to be asked for its code."""
        return os.waitid(os.P_PID, self.number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(self, how: signal.Signals) -> bool:
        """Send a signal; whether the process was still there to be ended by it."""
        alive = not self.ended()
        os.kill(self.number, how)
        return alive

    def code(self) -> int:
        """Wait for its end."""
        end = time.monotonic() + SLOWEST
        while not self.ended():
            if time.monotonic() > end:
                os.kill(self.number, signal.SIGKILL)
            time.sleep(0.002)
        return os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])

    def _wait_for(self, writes: int) -> int:
        told, end = 0, time.monotonic() + SLOWEST
        while told < writes and time.monotonic() < end and not self.ended():
            if select.select([self.journal], [], [], 0.1)[0]:
                told += len(os.read(self.journal, writes - told))
        return told

    def _rest(self) -> int:
        told = 0
        while part := os.read(self.journal, 1000):
            told += len(part)
        os.close(self.journal)
        return told


def last_line() -> str:
    """What a process said last."""
    said = os.pread(LOG, os.fstat(LOG).st_size, 0).decode(errors="replace")
    return (said.strip().splitlines() or [""])[-1]


def started(task: Task) -> Process:
    """Run a task in a process of its own; what it says is kept aside."""
    end, journal = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(end)
        code = 1
        try:
            for stream in (1, 2):
                os.dup2(LOG, stream)
            task(journal)
            code = 0
        except SystemExit as error:
            code = int(error.code or 0)
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
        finally:
            os._exit(code)
    os.close(journal)
    return Process(number, end)


def in_process(task: Callable[[], object]):  # noqa: ANN201 - what the task returns
    """The result of a task that runs in a process of its own."""
    end, journal = os.pipe()
    number = os.fork()
    if number == 0:
        try:
            with os.fdopen(journal, "wb") as stream:
                pickle.dump(task(), stream)
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    os.close(journal)
    with os.fdopen(end, "rb") as stream:
        content = stream.read()
    if os.waitpid(number, 0)[1] or not content:
        raise SystemExit("a check ended with an error")
    return pickle.loads(content)


# -- what the processes do ------------------------------------------------------------------------


def prepare(folder: Path, first: Op) -> Truth:
    """Make the archive with its first posts, leave a small untrained encoder, index both."""
    with closing(Archive.open(folder, create=True)) as archive:
        archive.write(first.posts)
    lexicon = Lexicon.build([Post("w", title=" ".join(WORDS))])
    table = np.random.default_rng(1).normal(0, 0.1, (len(lexicon.vocabulary), 16))
    home = new_folder(folder)
    Ranker.create("hyperqa", lexicon, table.astype(np.float32), {"dim": 16}).save(home / "encoder")
    serving = Serving("encoder", weights={"bm25": 1.0, "vectors": 0.5})
    write_manifest(home, Manifest("2026-01-01T00:00:00+00:00", serving, serving))
    with Engine.open(folder) as engine:
        return Truth.of(engine.archive)


def command(journal: int, *words: object) -> None:
    """The command of the program."""
    sys.argv = ["askonce", *map(str, words)]
    cli.main()


def write_all(target: Engine | Archive, plan: Sequence[Op], journal: int) -> None:
    """Write one after the other, and tell of each that was acknowledged."""
    for op in plan:
        apply(target, op)
        os.write(journal, b".")
    target.close()


def apply(target: Engine | Archive, op: Op) -> None:
    """One write."""
    if op.posts:
        target.write(op.posts)
    if op.gone:
        target.delete(op.gone)


def write_over_http(port: int, server: int, plan: Sequence[Op], journal: int) -> None:
    """The same through a server, as soon as it takes writes, until its process is gone."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SLOWEST)
    while not answered(connection, "GET", "/readyz", None):
        if not exists(server):  # killed before it was ready
            return
        time.sleep(0.01)
    for op in plan:
        posts = [asdict(post) for post in op.posts]
        path, body = ("", {"posts": posts}) if posts else ("/delete", {"ids": op.gone})
        if not answered(connection, "POST", f"/api/posts{path}", json.dumps(body)):
            return
        os.write(journal, b".")


def exists(number: int) -> bool:
    """Whether a process is there and not yet waited for."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def answered(
    connection: http.client.HTTPConnection, method: str, path: str, body: str | None
) -> bool:
    """Whether a request is answered with a success."""
    try:
        connection.request(method, path, body, {"content-type": "application/json"})
        response = connection.getresponse()
        content = response.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return False
    if response.status in (200, 201):
        return True
    if response.status != 503:
        raise SystemExit(f"{path}: {response.status} {content!r}")
    return False


def free_port() -> int:
    """A port that nobody listens at."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def compared(held: Truth, steps: Sequence[Truth]) -> Found:
    """How an archive differs from what must be there: the first step, or up to the last one."""
    if held in steps:
        return Found(held)
    first, last = steps[0], steps[-1]
    lost = 0
    for name in first.posts.keys() | last.posts.keys():
        lost += held.posts.get(name) not in [step.posts.get(name) for step in steps]
    edits = Counter(held.edits) - Counter(last.edits)
    doubled = max(0, held.change - last.change) + edits.total()
    return Found(held, lost=lost, doubled=doubled, half=1)


if __name__ == "__main__":
    main()
