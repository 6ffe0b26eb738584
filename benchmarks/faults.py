"""Kill -9 at random moments of importing, writing, moderating and indexing: what is lost?

    python benchmarks/faults.py --kills 200 --json F

A small archive with a small encoder lives through all kills. Each time a process writes to it and
says after each write that it was acknowledged, until it is killed at a random moment. Then the
archive is opened as after any restart, and compared with what was acknowledged: the write that was
under way may be there as a whole or not at all, and is repeated as a client would. All indexes on
the disk must hold exactly the posts of the archive. ``serving`` is a real server, killed while a
client writes over HTTP; ``desk`` adds and removes links and stores visitors' marks; ``upgrading``
opens an archive of the first format, which upgrades it, and writes to it. Transactions of an import
and files of vectors are made small, so that kills fall between their steps too.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # also: a process that is forked must have one thread

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path

from fault_checks import Found, compared, differences
from fault_processes import SLOWEST, Outcome, in_process, last_line, started
from fault_tasks import apply, command, downgrade, free_port, prepare, write_all, write_over_http
from fault_truth import Author, Op, Truth

from askonce.archive import Archive, load
from askonce.data.forums import Source
from askonce.data.forums.jsonl import read
from askonce.engine import Engine
from askonce.index import vectors

OPERATIONS = (
    "importing",
    "adding",
    "editing",
    "deleting",
    "desk",
    "upgrading",
    "indexing",
    "serving",
)
WRITES = ("adding", "editing", "deleting", "linking")
DESK = ("linking", "unlinking", "marking", "deleting")  # of moderators and visitors
KINDS = {"serving": WRITES, "indexing": WRITES, "desk": DESK, "upgrading": (*WRITES, "marking")}
POSTS, WRITES_PLANNED = 500, 30
LOADING = import_module("askonce.archive.load")  # the package shows its function by this name


@dataclass
class Report:
    """What the kills did."""

    kills: int = 0
    by_operation: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OPERATIONS, 0))
    acknowledged: int = 0  # writes
    under_way_kept: int = 0  # not acknowledged, but there
    under_way_gone: int = 0
    lost: int = 0  # posts that are not as an acknowledged write left them
    doubled: int = 0  # changes or revisions that no writer made
    half: int = 0  # archives that no number of whole writes explains
    index_differences: int = 0
    failures: int = 0  # processes that ended with an error by themselves
    examples: list[str] = field(default_factory=list)
    finished: int = 0  # done before the kill came; not counted as kills
    seconds: float = 0.0


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
        checked = in_process(lambda: self._check(operation, steps, plan, acknowledged))
        self._note(operation, checked, acknowledged, under_way=acknowledged < len(plan))

    def _plan(self, operation: str) -> list[Op]:
        if operation == "importing":
            return self._import_plan()
        if operation == "upgrading":
            in_process(lambda: downgrade(self.folder))
            self.truth = replace(self.truth, marks=frozenset())
        kinds = KINDS.get(operation, (operation,))
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

    def _outcome(self, operation: str, plan: Sequence[Op], after: float) -> Outcome:
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
            words = ("serve", self.folder, "--port", port, "--allow-unauthenticated-writes")
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
            outcome = compared(Truth.of(archive), steps)
            outcome.done = done
        outcome.differences = differences(self.folder)
        return outcome

    def _note(self, operation: str, outcome: Found, acknowledged: int, under_way: bool) -> None:
        report, self.truth = self.report, outcome.truth
        if under_way and outcome.done > acknowledged:
            report.under_way_kept += 1
        elif under_way:
            report.under_way_gone += 1
        report.lost += outcome.lost
        report.doubled += outcome.doubled
        report.half += outcome.half
        report.index_differences += len(outcome.differences)
        if outcome.lost or outcome.doubled or outcome.half:
            self._wrong(operation, f"{outcome.lost} lost, {outcome.doubled} doubled")
        for difference in outcome.differences[:3]:
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


if __name__ == "__main__":
    main()
