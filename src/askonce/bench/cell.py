"""One cell: a row on a dataset with a seed, run, measured and written to the store."""

import platform
import resource
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from askonce.bench.names import row_of
from askonce.bench.rows.base import Outcome, Row, Task
from askonce.bench.setup import BenchData, Setup, bench_data
from askonce.bench.store import CELL, FORMAT, PER_QUERY, Store, StoredCell, write_json
from askonce.evaluation import METRICS, Report, evaluate, pools_to_qrels, write_qrels, write_run
from askonce.files import locked
from askonce.training.events import OnEvent


@dataclass(frozen=True)
class CellPlan:
    """Which cell, in words that another process understands."""

    setup: Setup
    dataset: str
    model: str
    seed: int

    def __str__(self) -> str:
        return f"{self.dataset} · {self.model} · seed {self.seed}"


def cell_settings(row: Row, data: BenchData, setup: Setup) -> dict[str, Any]:
    """All that decides a cell's scores besides its seed; a cell with others is stale."""
    return {
        "format": FORMAT,
        "dataset": data.dataset.name,
        "data": data.shape(),
        "scored": data.scored,
        "quick": setup.quick,
        "row": row.settings(setup.vectors, setup.quick),
    }


def run_cell(plan: CellPlan, on_event: OnEvent, threads: int | None = None) -> StoredCell:
    """Run a cell and store it; what an interrupted run left is used."""
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    setup, store = plan.setup, Store(plan.setup.store)
    data = bench_data(plan.dataset, setup)
    row = row_of(plan.model, data.dataset.name, setup.recipes)
    place = store.place(data.dataset.name, row.label, plan.seed)
    refusal = f"another bench is at work on {plan}; run this again when it has ended"
    with locked(place.with_name(f".{plan.seed}.lock"), refusal):
        return _run(plan, store, data, row, on_event)


def _run(plan: CellPlan, store: Store, data: BenchData, row: Row, on_event: OnEvent) -> StoredCell:
    setup = plan.setup
    settings = cell_settings(row, data, setup)
    key = data.dataset.name, row.label, plan.seed
    part = store.work_folder(*key, settings)
    begin = time.perf_counter()
    task = Task(data, plan.seed, part, setup.vectors, setup.quick, store, on_event)
    outcome = row.run(task)
    reports = _write_runs(part, store, data, row, outcome)
    record = {
        "format": FORMAT,
        "dataset": data.dataset.name,
        "model": row.label,
        "kind": row.kind,
        "seed": plan.seed,
        "settings": settings,
        "figures": {split: _figures(report, data, split) for split, report in reports.items()},
        "facts": outcome.facts | _measured(time.perf_counter() - begin),
        "versions": _versions(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    row.tidy(part)
    write_json(part / CELL, record)
    return store.finish(part, *key)


def _write_runs(
    part: Path, store: Store, data: BenchData, row: Row, outcome: Outcome
) -> dict[str, Report]:
    (part / "runs").mkdir(exist_ok=True)
    reports: dict[str, Report] = {}
    for split, run in outcome.runs.items():
        qrels = pools_to_qrels(data.dataset.splits[split])
        reports[split] = evaluate(qrels, run, data.scored[split], outcome.ties)
        write_run(part / "runs" / f"{split}.run.gz", run, row.label.replace(" ", "_"))
        write_qrels(store.folder / data.dataset.name / f"{split}.qrels.gz", qrels)
    values = {
        split: {query: [found[m] for m in METRICS] for query, found in report.per_query.items()}
        for split, report in reports.items()
    }
    write_json(part / PER_QUERY, values, indent=None)
    return reports


def _figures(report: Report, data: BenchData, split: str) -> dict[str, Any]:
    return {
        "protocol": data.scored[split],
        "dev": split == data.dev,
        "queries": report.queries,
        "metrics": report.metrics,
        "tied_positives": report.tied_positives,
    }


def _measured(seconds: float) -> dict[str, Any]:
    import torch

    scale = 1 if platform.system() == "Darwin" else 1024  # of ru_maxrss
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
    return {
        "seconds": seconds,
        "cpu_seconds": time.process_time(),  # tells a busy machine from a slow row
        "peak_bytes": peak,
        "threads": torch.get_num_threads(),
    }


def _versions() -> dict[str, str]:
    import torch

    from askonce import __version__

    return {
        "askonce": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
