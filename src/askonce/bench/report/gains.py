"""What you would have had, and what you get: the row that `askonce train` would serve.

On a benchmark the row is chosen as on an archive: rows that need less come first, and a later one
serves only if it gains on dev by more than its standard error. That of a trained archive is in its
manifest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from askonce.bench.report.blocks import Block, Table, number_text
from askonce.bench.report.results import Result, ResultTable, last_tables
from askonce.bench.store import Store
from askonce.ranking.manifest import SENTENCE, Serving, current, read_manifest
from askonce.training.archive.selection.compare import gains

TITLE = "What you would have had, what you get"
ABOUT = (
    "Test figures. Had: BM25, and MiniLM as it comes fused with BM25. Get: the row that askonce "
    "train would serve, chosen on dev; at least had: whether its mean is within or above the 95 % "
    "interval of MiniLM + BM25. Fast: the best row on dev without a transformer at query time, and "
    "how many times as many texts it reads in a second of processor time as MiniLM run by "
    "sentence-transformers (benchmarks/readers.py)."
)
HEADER = (
    "data", "n", "BM25", "MiniLM + BM25", "you get", "row", "at least had", "fast", "fast row",
    "times as fast",
)  # fmt: skip
HAD = "bm25+minilm"
STOCK = "minilm by sentence-transformers"  # its speed, as everybody runs it
STEPS = (("bm25",), ("minilm", HAD), ("adapter", "bm25+adapter"), ("student", "bm25+student"))
FAST_ENCODERS = ("starter", "student", "hyperqa")  # without a transformer, 200 times MiniLM's speed
FAST = ("bm25", *(f"{prefix}{name}" for name in FAST_ENCODERS for prefix in ("", "bm25+")))


@dataclass(frozen=True)
class RowMean:
    """A mean over questions with its interval."""

    row: str
    mean: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        interval = "" if self.low is None else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.mean:.3f}{interval}"


@dataclass(frozen=True)
class Gain:
    data: str
    questions: int
    bm25: RowMean
    had: RowMean
    served: RowMean
    fast: RowMean
    times: float | None  # speed of the fast row's encoder over MiniLM's

    @property
    def at_least_had(self) -> bool:
        """Whether what serves is no worse than MiniLM + BM25, by its interval."""
        return self.served.mean >= (self.had.mean if self.had.low is None else self.had.low)

    def cells(self) -> list[str]:
        return [
            self.data, str(self.questions), str(self.bm25), str(self.had), str(self.served),
            self.served.row, "yes" if self.at_least_had else "no", str(self.fast), self.fast.row,
            number_text(self.times),
        ]  # fmt: skip


def gain_table(lines: Sequence[Gain]) -> Table:
    return Table(TITLE, ABOUT, HEADER, _cells(lines))


def markdown(lines: Sequence[Gain], earlier: str = "") -> str:
    """The table; lines of an earlier one stay where nothing is known of their data now."""
    header, rule, *rows = (
        f"| {' | '.join(row)} |" for row in (HEADER, ["---"] * len(HEADER), *_cells(lines))
    )
    by_data = {row.split(" | ")[0]: row for row in [*earlier.splitlines()[2:], *rows]}
    return "\n".join([header, rule, *by_data.values()])


def _cells(lines: Sequence[Gain]) -> list[list[str]]:
    return [line.cells() for line in lines]


def all_gains(store: Store, archives: Sequence[Path]) -> list[Gain]:
    """The lines of the store's datasets, and of trained archives."""
    lines = [benchmark_gain(table, store) for table in last_tables(store)]
    return [
        *(line for line in lines if line is not None),
        *(line for folder in archives for line in archive_gains(folder)),
    ]


def with_gains(parts: Sequence[Block], lines: Sequence[Gain]) -> list[Block]:
    """The report with these lines in its table, which has those of the store only."""
    return [gain_table(lines) if part.title == TITLE else part for part in parts]


def benchmark_gain(table: ResultTable, store: Store) -> Gain | None:
    """The line of a dataset; None while the store lacks what everybody would have had."""
    results = {result.model: result for result in table.results}
    if not {"bm25", HAD} <= results.keys():
        return None
    served = served_row(results, table.metric)
    fast = _best(results, FAST, table.metric)
    speeds = store.speeds(table.dataset)
    own, minilm = (speeds.get(name.removeprefix("bm25+"), {}) for name in (fast.model, STOCK))
    times = own["texts_per_second"] / minilm["texts_per_second"] if own and minilm else None
    had, bm25 = results[HAD], results["bm25"]
    metric = table.metric
    return Gain(
        f"{table.dataset}, {metric}",
        bm25.queries,
        bm25=_figure(bm25, metric),
        had=_figure(had, metric),
        served=_figure(served, metric),
        fast=_figure(fast, metric),
        times=times,
    )


def served_row(results: dict[str, Result], metric: str) -> Result:
    """The row that would serve: of each step the best on dev, if it gains on the step before."""
    served = results["bm25"]
    for names in STEPS[1:]:
        if any(name in results for name in names):
            best = _best(results, names, metric)
            values, base = (_dev(one, metric) for one in (best, served))
            queries = sorted(values.keys() & base.keys())
            if gains(np.array([values[q] for q in queries]), np.array([base[q] for q in queries])):
                served = best
    return served


def archive_gains(folder: Path) -> list[Gain]:
    """The lines of a trained archive: one for each task that it has labels for."""
    models = current(folder)
    if models is None:
        return []
    name = folder.name.removesuffix(".askonce")
    return [
        _archive_gain(f"{name}, {task}, MAP", serving)
        for task, serving in read_manifest(models).servings.items()
        if serving.figures.get("test")
    ]


def _archive_gain(data: str, serving: Serving) -> Gain:
    dev, test = serving.figures["dev"], serving.figures["test"]
    intervals = serving.intervals.get("test", {})

    def figure(system: str, row: str) -> RowMean:
        low, high = intervals.get(system, (None, None))
        return RowMean(row, test[system]["MAP"], low, high)

    had = "fused minilm" if "fused minilm" in test else serving.untrained or "fused"
    used = [part for part in (serving.encoder, serving.pair) if part]
    parts = [part.removeprefix(SENTENCE).rpartition("/")[2] for part in used]
    row = "+".join([*(["bm25"] if serving.weights.get("bm25") else []), *parts])
    known = [s for s in ("bm25", "fused starter", "fused student") if s in dev]
    fast = max(known, key=lambda system: dev[system]["MAP"])
    if serving.encoder is not None and serving.encoder.endswith("/student"):
        fast = "fused"
    name = fast.removeprefix("fused ")
    alone = dev.get(f"vectors {name}")  # one that is as good alone serves alone
    fast_row = name if alone is None or alone == dev[fast] else f"bm25+{name}"
    return Gain(
        data,
        serving.queries.get("test", 0),
        figure("bm25", "bm25"),
        figure(had, HAD),
        figure("fused", row or "bm25"),
        figure(fast, fast_row),
        None,
    )


def _best(results: dict[str, Result], names: Sequence[str], metric: str) -> Result:
    known = [results[name] for name in names if name in results]
    return max(known, key=lambda result: result.dev(metric) or 0.0)


def _dev(result: Result, metric: str) -> dict[str, float]:
    """Of each dev question, the mean over seeds."""
    splits = [split for split, figures in result.first.figures.items() if figures["dev"]]
    values = [cell.values(splits[-1], metric) for cell in result.cells] if splits else []
    return {query: float(np.mean([one[query] for one in values])) for query in values[0]}


def _figure(result: Result, metric: str) -> RowMean:
    return RowMean(result.model, result.mean(metric), *result.estimates[metric].bounds)
