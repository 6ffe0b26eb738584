"""Run a bench: the missing cells of each dataset, as jobs that depend on each other."""

import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from askonce import __version__
from askonce.bench.data import BenchData, bench_data, main_metric
from askonce.bench.plan import Bench, CellPlan, cell_settings, is_finished, planned_rows, row_of
from askonce.bench.rows.base import Outcome, Row, Task
from askonce.bench.rows.fusion import FusionRow
from askonce.bench.store import CELL, FORMAT, PER_QUERY, Store, StoredCell, write_json
from askonce.bench.workers import Job, run_here, run_jobs
from askonce.errors import AskonceError
from askonce.evaluation import METRICS, Report, evaluate, pools_to_qrels, write_qrels, write_run
from askonce.files import damaged_lines, locked
from askonce.training.events import Epoch, Event, OnEvent, Reading
from askonce.types import utc_now

Say = Callable[[str], None]
EPOCHS_EVERY = 20.0  # seconds between two lines about epochs
PERPLEXITIES = ("perplexity", "rightward_perplexity", "leftward_perplexity")


def run_bench(bench: Bench, say: Say) -> Store:
    """Run what the store lacks, dataset by dataset; raises at the end if cells failed."""
    store = Store.make(bench.setup.store, bench.setup.quick)
    failed: dict[str, str] = {}
    for name in bench.datasets:
        data = bench_data(name, bench.setup)
        for line in damaged_lines(name, data.damaged):
            say(line)
        store.remember_data(data.dataset.name, bench.setup.data)
        jobs = _jobs(bench, data, store, say)
        failed |= run_jobs(jobs, bench.jobs, say) if bench.jobs else run_here(jobs, say)
    if failed:
        first, reason = next(iter(failed.items()))
        raise AskonceError(
            f"{len(failed)} cells failed, for example {first}: {reason}; all others are in the "
            "store: fix the cause and run the same command"
        )
    return store


def _jobs(bench: Bench, data: BenchData, store: Store, say: Say) -> list[Job]:
    """A job per missing or stale cell: first seeds, second seeds, …, then fusions alike."""
    missing: list[tuple[Row, int]] = []
    finished = 0
    for row in planned_rows(bench, data):
        for seed in range(1, 1 + (bench.seeds if row.seeded else 1)):
            if is_finished(store, row, data, seed, bench.setup):
                finished += 1
            else:
                missing.append((row, seed))
    missing.sort(key=lambda entry: (isinstance(entry[0], FusionRow), entry[1]))
    say(f"{data.dataset.name}: {len(missing)} cells to run, {finished} in the store")
    planned = {str(_plan(bench, data, row, seed)) for row, seed in missing}
    return [_job(bench, data, store, row, seed, planned) for row, seed in missing]


def _job(
    bench: Bench, data: BenchData, store: Store, row: Row, seed: int, planned: set[str]
) -> Job:
    parts = row.parts if isinstance(row, FusionRow) else ()
    needs = [(part, seed if part.seeded else 1) for part in parts]
    if seed > 1:
        needs.append((row, 1))
    after = (str(_plan(bench, data, *need)) for need in needs)
    plan = _plan(bench, data, row, seed)
    return Job(
        str(plan),
        partial(_run, plan, bench.threads),
        tuple(name for name in after if name in planned),
        partial(_reason_to_skip, bench, data, store, row, seed),
    )


def _plan(bench: Bench, data: BenchData, row: Row, seed: int) -> CellPlan:
    return CellPlan(bench.setup, data.dataset.name, row.label, seed)


def _reason_to_skip(bench: Bench, data: BenchData, store: Store, row: Row, seed: int) -> str | None:
    """A slow row gets no further seeds; a fusion needs its parts."""
    if isinstance(row, FusionRow):
        for part in row.parts:
            if not is_finished(store, part, data, seed if part.seeded else 1, bench.setup):
                return f"{part.label} has no seed {seed}"
        return None
    first = store.cell(data.dataset.name, row.label, 1) if seed > 1 else None
    if first is not None and first.seconds > bench.longest:
        return f"its first seed took {first.seconds / 60:.0f} minutes"
    return None


def _run(plan: CellPlan, threads: int | None) -> str:
    return outcome_line(run_cell(plan, _epoch_logger(str(plan)), threads))


def outcome_line(cell: StoredCell) -> str:
    metric = main_metric(cell.dataset)
    shown = [f"{split} {figures['metrics'][metric]:.4f}" for split, figures in cell.figures.items()]
    return f"{metric} {', '.join(shown)} in {cell.facts['seconds']:.0f} s"


def epoch_line(event: Epoch) -> str:
    perplexities = {key: event.figures[key] for key in PERPLEXITIES if key in event.figures}
    phase = "pre-training, epoch" if perplexities else "epoch"
    texts = [f"{key.replace('_', ' ')} {value:.1f}" for key, value in perplexities.items()]
    texts += [f"dev {key} {event.dev[key]:.4f}" for key in ("MAP", "P@1") if key in event.dev]
    return "  ".join([f"{phase} {event.epoch}", *texts])


def _epoch_logger(name: str) -> OnEvent:
    """Lines about epochs on stderr, but not too many."""
    last = time.monotonic()

    def on_event(event: Event) -> None:
        nonlocal last
        if not isinstance(event, Epoch | Reading) or time.monotonic() - last < EPOCHS_EVERY:
            return
        last = time.monotonic()
        if isinstance(event, Epoch):
            line = epoch_line(event)
        else:
            line = f"read {event.done:,} of {event.total:,} texts"
        sys.stderr.write(f"{name}: {line}\n")

    return on_event


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
        figures = {
            split: {
                "protocol": data.scored[split],
                "dev": split == data.dev,
                "queries": report.queries,
                "metrics": report.metrics,
                "tied_positives": report.tied_positives,
            }
            for split, report in reports.items()
        }
        record = {
            "format": FORMAT,
            "dataset": data.dataset.name,
            "model": row.label,
            "kind": row.kind,
            "seed": plan.seed,
            "settings": settings,
            "figures": figures,
            "facts": outcome.facts | _measured(time.perf_counter() - begin),
            "versions": {
                "askonce": __version__,
                "torch": version("torch"),
                "python": platform.python_version(),
                "machine": platform.machine(),
            },
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


def _measured(seconds: float) -> dict[str, Any]:
    torch = sys.modules.get("torch")
    unit = 1 if platform.system() == "Darwin" else 1024  # of ru_maxrss, in bytes
    return {
        "seconds": seconds,
        "cpu_seconds": time.process_time(),  # tells a busy machine from a slow row
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
        "threads": torch.get_num_threads() if torch is not None else 1,
    }
