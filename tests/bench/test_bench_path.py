"""From the command to the summary: a bench in processes of its own, stopped and changed."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from askonce.bench.plan import Bench
from askonce.bench.run import run_bench
from askonce.bench.store import Store
from askonce.errors import AskonceError
from askonce.evaluation import METRICS, evaluate, read_qrels
from askonce.ranker import Ranker

MODELS = ("random", "bm25", "hyperqa", "bm25+hyperqa")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "askonce.cli", *map(str, arguments)]


def bench(workspace, *more: object) -> tuple[object, ...]:
    folders = (
        "--data",
        workspace / "data",
        "--recipes",
        workspace / "recipes",
        "--out",
        workspace / "store",
    )
    return ("bench", "csv", *folders, *more)


def times(store: Store) -> dict[str, int]:
    return {f"{c.model}/{c.seed}": c.folder.stat().st_mtime_ns for c in store.cells()}


def test_the_whole_path(workspace, setup, recipe_writer, askonce):
    said: list[str] = []
    plan = Bench(setup, ["csv"], MODELS, seeds=2, jobs=0, threads=None)
    store = run_bench(plan, said.append)
    first = times(store)
    rows = {"random/1", "bm25/1", "hyperqa/1", "hyperqa/2", "bm25+hyperqa/1", "bm25+hyperqa/2"}
    assert first.keys() == rows
    cells_are_whole(store)

    run_bench(plan, said.append)
    assert said[-1] == "csv: 0 cells to run, 6 in the store"
    assert times(store) == first

    # a changed recipe makes its own cells stale, and the fusions with them
    recipe_writer(workspace, "hyperqa", epochs=4)
    second = times(run_bench(plan, said.append))
    assert "csv: 4 cells to run, 2 in the store" in said
    assert {name for name in first if first[name] != second[name]} == {
        name for name in first if "hyperqa" in name
    }
    assert len(store.cell("csv", "hyperqa", 1).curve()) == 5
    with pytest.raises(AskonceError, match="holds full figures"):
        run_bench(replace(plan, setup=replace(setup, quick=True)), said.append)
    report_is_whole(workspace, askonce)


def test_a_first_seed_that_takes_long_stays_alone(setup):
    said: list[str] = []
    plan = Bench(setup, ["csv"], MODELS, seeds=3, jobs=0, threads=None, longest=0.0)
    store = run_bench(plan, said.append)
    assert {cell.seed for cell in store.cells()} == {1}
    assert any("hyperqa · seed 3: left out, its first seed took" in line for line in said)


def cells_are_whole(store: Store) -> None:
    qrels = read_qrels(store.folder / "csv" / "test.qrels.gz")
    for cell in store.cells():
        assert set(cell.figures) == {"dev", "test"}
        assert cell.versions.keys() == {"askonce", "torch", "python", "machine"}
        assert cell.facts["peak_bytes"] > 10_000_000
        assert cell.facts["pairs_per_second"] > 0
        ties = "expected" if cell.model == "random" else "trec"
        report = evaluate(qrels, cell.run("test"), "trec", ties)
        assert report.metrics == pytest.approx(cell.figures["test"]["metrics"])
        values = {query: metrics["MAP"] for query, metrics in report.per_query.items()}
        assert values == pytest.approx(cell.values("test", "MAP"))
    cell = store.cell("csv", "hyperqa", 2)
    assert cell.settings["row"]["recipe"]["train"]["epochs"] == 3
    assert [record["epoch"] for record in cell.curve()] == [0, 1, 2, 3]
    assert not (cell.ranker / "checkpoint").exists()
    assert len(Ranker.load(cell.ranker).rank("fix part3", ["glue part3 on", "sell"])) == 2
    other = store.cell("csv", "hyperqa", 1)
    assert cell.run("test") != other.run("test"), "another seed, another model"


def report_is_whole(workspace, askonce) -> None:
    shown = askonce(
        "report", workspace / "store", "--out", workspace / "page.html",
        "--out", workspace / "page.md", "--out", workspace / "summary.json",
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    page = (workspace / "page.html").read_text()
    assert "csv · test · 10 questions" in page
    assert "<svg" in page
    for outside in ('src="http', 'href="http', "url(", "<script src", "@import"):
        assert outside not in page
    text = (workspace / "page.md").read_text()
    assert "| bm25+hyperqa |" in text
    assert list((workspace / "page-figures").glob("*.svg"))

    entries = json.loads((workspace / "summary.json").read_text())
    assert len(entries) == 4 * len(METRICS)
    assert set(entries[0]) == {
        "dataset", "protocol", "split", "model", "metric", "mean", "low", "high", "seeds", "paper",
        "command",
    }  # fmt: skip
    actual = {(entry["model"], entry["metric"]): entry for entry in entries}
    assert actual["hyperqa", "MAP"]["seeds"] == 2
    assert actual["bm25", "MAP"]["mean"] == 1.0
    assert actual["random", "MAP"]["mean"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    # the command of an entry reprints it: everything is there
    again = askonce(*bench(workspace, "--models", "bm25+hyperqa", "--seeds", 2, "--json"))
    row = next(r for r in json.loads(again.stdout) if r["model"] == "bm25+hyperqa")
    assert row["metrics"]["MAP"]["mean"] == actual["bm25+hyperqa", "MAP"]["mean"]
    assert "--models bm25+hyperqa --seeds 2" in actual["bm25+hyperqa", "MAP"]["command"]


def children(parent):
    """The processes that a process started, by their ids."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if state_and_parent(pid)[1] == str(parent)]


def is_running(pid):
    return state_and_parent(pid)[0] not in ("gone", "Z")


def state_and_parent(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return ["gone", ""]


@pytest.mark.slow
def test_a_killed_bench_goes_on_where_it_was(workspace, recipe_writer):
    recipe_writer(workspace, "hyperqa", epochs=40)
    run = command(*bench(workspace, "--models", "hyperqa"))
    process = subprocess.Popen(run, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    part = workspace / "store" / "csv" / "hyperqa" / ".1.part"
    metrics = part / "ranker" / "metrics.jsonl"
    limit = time.monotonic() + 300
    while not metrics.is_file() or len(metrics.read_text().splitlines()) < 3:
        assert process.poll() is None and time.monotonic() < limit
        time.sleep(0.01)
    workers = children(process.pid)
    assert workers
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    while any(is_running(worker) for worker in workers):
        assert time.monotonic() < limit, "a worker outlived its bench"
        time.sleep(0.01)
    before = metrics.read_text().splitlines()
    assert len(before) < 40

    shown = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert shown.returncode == 0, shown.stderr
    cell = Store(workspace / "store").cell("csv", "hyperqa", 1)
    after = [json.dumps(record) for record in cell.curve()]
    assert [record["epoch"] for record in cell.curve()] == list(range(41))
    assert after[: len(before) - 1] == before[:-1], "finished epochs are kept, times and all"
    assert not part.exists()
