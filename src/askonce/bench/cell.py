"""Run one cell, a row on a dataset with a seed; measure it and write it to the store."""

import os
import platform
import resource
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from askonce.bench.data import BenchData, bench_data
from askonce.bench.plan import CellPlan, cell_settings, row_of
from askonce.bench.rows.base import Outcome, Row, Task
from askonce.bench.store import CELL, FORMAT, PER_QUERY, Store, StoredCell, write_json
from askonce.evaluation import METRICS, Report, evaluate, pools_to_qrels, write_qrels, write_run
from askonce.files import locked
from askonce.training.events import OnEvent
from askonce.types import utc_now


def run_cell(plan: CellPlan, on_event: OnEvent, threads: int | None = None) -> StoredCell:
    """Run a cell and store it, resuming from what an interrupted run left."""
    if threads is not None:  # of torch, which baselines do not load; others load it later
        os.environ["OMP_NUM_THREADS"] = str(threads)
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(threads)
    setup, store = plan.setup, Store(plan.setup.store)
    data = bench_data(plan.dataset, setup)
    row = row_of(plan.model, data.dataset.name, setup.recipes)
    settings = cell_settings(row, data, setup)
    key = data.dataset.name, row.label, plan.seed
    refusal = f"another bench is running {plan}; try again when it has finished"
    with locked(store.cell_folder(*key).with_name(f".{plan.seed}.lock"), refusal):
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
            "finished": utc_now(),
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
        split: {query: [row[metric] for metric in METRICS] for query, row in r.per_query.items()}
        for split, r in reports.items()
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
    torch = sys.modules.get("torch")
    unit = 1 if platform.system() == "Darwin" else 1024  # of ru_maxrss, in bytes
    return {
        "seconds": seconds,
        "cpu_seconds": time.process_time(),  # tells a busy machine from a slow row
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
        "threads": torch.get_num_threads() if torch is not None else 1,
    }


def _versions() -> dict[str, str]:
    from askonce import __version__

    return {
        "askonce": __version__,
        "torch": version("torch"),
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
