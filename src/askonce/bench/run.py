"""Run a bench: the missing cells of each dataset, as jobs that depend on each other."""

import sys
import time
from collections.abc import Callable
from functools import partial

from askonce.bench.cell import run_cell
from askonce.bench.data import BenchData, bench_data, main_metric
from askonce.bench.plan import Bench, CellPlan, is_finished, planned_rows
from askonce.bench.rows.base import Row
from askonce.bench.rows.fusion import FusionRow
from askonce.bench.store import Store, StoredCell
from askonce.bench.workers import Job, run_here, run_jobs
from askonce.errors import AskonceError
from askonce.files import damaged_lines
from askonce.training.events import Epoch, Event, OnEvent, Reading

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
