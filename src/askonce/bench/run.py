"""A bench: which cells are to be run, in which order, and which are there already."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from askonce.bench.cell import CellPlan, cell_settings, run_cell
from askonce.bench.names import default_names, row_of
from askonce.bench.rows.base import Row
from askonce.bench.rows.fusion import FusionRow
from askonce.bench.setup import BenchData, Setup, bench_data, main_metric
from askonce.bench.store import LONGEST, Store, StoredCell
from askonce.bench.workers import Job, run_here, run_jobs
from askonce.errors import AskonceError
from askonce.training.events import Epoch, Event, OnEvent

Say = Callable[[str], None]
EPOCHS_EVERY = 20.0  # seconds between two lines about epochs
PERPLEXITIES = ("perplexity", "rightward_perplexity", "leftward_perplexity")


@dataclass(frozen=True)
class Bench:
    """What to run: no models means all that a dataset has."""

    setup: Setup
    datasets: Sequence[str]
    models: Sequence[str] = ()
    seeds: int = 1
    jobs: int = 1  # processes at a time; 0: none, all in this one
    threads: int | None = 1  # of each job; None: as they are
    longest: float = LONGEST


def run_bench(bench: Bench, say: Say) -> Store:
    """Run what is not in the store yet, dataset by dataset; raises at the end if cells failed."""
    store = Store.make(bench.setup.store, bench.setup.quick)
    failed: dict[str, str] = {}
    for name in bench.datasets:
        data = bench_data(name, bench.setup)
        store.remember_data(data.dataset.name, bench.setup.data)
        jobs = _jobs(bench, data, store, say)
        failed |= run_jobs(jobs, bench.jobs, say) if bench.jobs else run_here(jobs, say)
    if failed:
        first, reason = next(iter(failed.items()))
        raise AskonceError(
            f"{len(failed)} cells failed, {first} for one: {reason}; all others are kept: mend "
            "it and run the same command"
        )
    return store


def rows_of(bench: Bench, data: BenchData) -> list[Row]:
    """The rows that are asked for, with the parts of fusions before them, each once."""
    dataset, setup = data.dataset, bench.setup
    pools = [pool for split in data.scored for pool in dataset.splits[split]]
    largest = max((len(pool.candidates) for pool in pools), default=0)
    names = bench.models or default_names(dataset.name, setup.recipes, largest)
    rows = [row_of(name, dataset.name, setup.recipes) for name in names]
    parts = [part for row in rows if isinstance(row, FusionRow) for part in row.parts]
    fusions = [row for row in rows if isinstance(row, FusionRow)]
    single = [row for row in rows if not isinstance(row, FusionRow)]
    return list({row.label: row for row in [*single, *parts, *fusions]}.values())


def _jobs(bench: Bench, data: BenchData, store: Store, say: Say) -> list[Job]:
    """A job for each missing or stale cell: first seeds, then second ones, ..., then fusions."""
    rows = rows_of(bench, data)
    missing: list[tuple[Row, int]] = []
    kept = 0
    for row in sorted(rows, key=lambda row: isinstance(row, FusionRow)):
        for seed in range(1, 1 + (bench.seeds if row.seeded else 1)):
            if _fresh(store, row, data, seed, bench.setup):
                kept += 1
            else:
                missing.append((row, seed))
    missing.sort(key=lambda entry: (isinstance(entry[0], FusionRow), entry[1]))
    say(f"{data.dataset.name}: {len(missing)} cells to run, {kept} in the store")
    planned = {_name(data, row.label, seed) for row, seed in missing}
    return [_job(bench, data, store, row, seed, planned) for row, seed in missing]


def _job(
    bench: Bench, data: BenchData, store: Store, row: Row, seed: int, planned: set[str]
) -> Job:
    dataset = data.dataset.name
    parts = row.parts if isinstance(row, FusionRow) else ()
    needs = [(part.label, seed if part.seeded else 1) for part in parts]
    if seed > 1:
        needs.append((row.label, 1))
    after = tuple(name for need in needs if (name := _name(data, *need)) in planned)
    plan = CellPlan(bench.setup, dataset, row.label, seed)
    work = partial(_work, plan, bench.threads)
    skip = partial(_reason_to_skip, bench, data, store, row, seed)
    return Job(_name(data, row.label, seed), work, after, skip)


def _fresh(store: Store, row: Row, data: BenchData, seed: int, setup: Setup) -> bool:
    cell = store.cell(data.dataset.name, row.label, seed)
    return cell is not None and cell.settings == cell_settings(row, data, setup)


def _reason_to_skip(bench: Bench, data: BenchData, store: Store, row: Row, seed: int) -> str | None:
    """More seeds of what takes long are not worth their time; a fusion needs its parts."""
    if isinstance(row, FusionRow):
        for part in row.parts:
            if not _fresh(store, part, data, seed if part.seeded else 1, bench.setup):
                return f"{part.label} has no seed {seed}"
        return None
    first = store.cell(data.dataset.name, row.label, 1) if seed > 1 else None
    if first is not None and first.seconds > bench.longest:
        return f"its first seed took {first.seconds / 60:.0f} minutes"
    return None


def _name(data: BenchData, label: str, seed: int) -> str:
    return f"{data.dataset.name} · {label} · seed {seed}"


def _work(plan: CellPlan, threads: int | None) -> str:
    """In a process of its own: run the cell, say what it reached."""
    return outcome_line(run_cell(plan, _epoch_logger(str(plan)), threads))


def outcome_line(cell: StoredCell) -> str:
    """What a cell reached, in one line."""
    metric = main_metric(cell.dataset)
    shown = [f"{split} {found['metrics'][metric]:.4f}" for split, found in cell.figures.items()]
    return f"{metric} {', '.join(shown)} in {cell.facts['seconds']:.0f} s"


def epoch_line(event: Epoch) -> str:
    """An epoch's figures in one line."""
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
        if not isinstance(event, Epoch) or time.monotonic() - last < EPOCHS_EVERY:
            return
        last = time.monotonic()
        sys.stderr.write(f"{name}: {epoch_line(event)}\n")

    return on_event
