"""From a store to what tables show: means over seeds, intervals, tests, the papers' numbers."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any

from askonce.bench.report.published import Published, published
from askonce.bench.setup import main_metric
from askonce.bench.store import LONGEST, Store, StoredCell
from askonce.evaluation import METRICS, Comparison, Summary, compare, summarise

LEVEL = 0.05
BASES = ("bm25", "minilm")  # every row is tested against these
KINDS = ("baseline", "transformer", "trained", "fusion")  # their order in a table
FORMS = ("raw", "clean", "lemma")  # of one split's text or questions, in the names of splits


@dataclass(frozen=True)
class Line:
    """One row of a table."""

    split: str
    protocol: str
    queries: int
    cells: tuple[StoredCell, ...]  # one per seed

    @property
    def dataset(self) -> str:
        """Its dataset."""
        return self.cells[0].dataset

    @property
    def model(self) -> str:
        """Its name."""
        return self.cells[0].model

    @property
    def kind(self) -> str:
        """Which kind of row."""
        return self.cells[0].kind

    @property
    def seeds(self) -> int:
        """Over how many runs its figures are means."""
        return len(self.cells)

    @cached_property
    def summaries(self) -> dict[str, Summary]:
        """Each metric's mean over seeds, with its interval over queries."""
        return {
            metric: summarise([cell.values(self.split, metric) for cell in self.cells])
            for metric in METRICS
        }

    def mean(self, metric: str) -> float:
        """A metric's mean over seeds and queries."""
        return fmean(cell.figures[self.split]["metrics"][metric] for cell in self.cells)

    def by_query(self, metric: str) -> dict[str, float]:
        """A metric's mean over seeds for each query."""
        values = [cell.values(self.split, metric) for cell in self.cells]
        return {query: fmean(seed[query] for seed in values) for query in values[0]}

    def dev(self, metric: str) -> float | None:
        """The metric on dev."""
        found = [
            figures["metrics"][metric]
            for cell in self.cells
            for figures in cell.figures.values()
            if figures["dev"]
        ]
        return fmean(found) if found else None

    def fact(self, name: str) -> float | None:
        """The mean over seeds of a time, speed or size."""
        found = [cell.facts[name] for cell in self.cells if cell.facts.get(name) is not None]
        return fmean(found) if found else None

    def paper(self, metric: str) -> Published | None:
        """The printed number."""
        return published(self.dataset, self.protocol, self.model, metric)


@dataclass(frozen=True)
class ResultTable:
    """All rows of one dataset and split."""

    dataset: str
    split: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def metric(self) -> str:
        """The metric by which rows are compared."""
        return main_metric(self.dataset)

    @property
    def protocol(self) -> str:
        """Which queries count."""
        return self.lines[0].protocol

    @property
    def queries(self) -> int:
        """How many count."""
        return self.lines[0].queries

    @property
    def title(self) -> str:
        """What the table is of."""
        return (
            f"{self.dataset} · {self.split} · {self.queries:,} questions · protocol {self.protocol}"
        )

    @cached_property
    def comparisons(self) -> dict[str, dict[str, Comparison]]:
        """Each row against each base, Holm-corrected for the rows of the table."""
        values = {line.model: line.by_query(self.metric) for line in self.lines}
        found = {}
        for base in BASES:
            others = {name: row for name, row in values.items() if name != base}
            if base in values and others and len(values[base]) > 1:
                found[base] = {c.name: c for c in compare(values[base], others)}
        return found

    def mark(self, line: Line, base: str) -> int:
        """1 where the row is better than the base beyond chance, -1 where worse, else 0."""
        found = self.comparisons.get(base, {}).get(line.model)
        if found is None or found.randomisation_holm >= LEVEL:
            return 0
        return 1 if found.difference > 0 else -1

    def best(self, metric: str) -> float:
        """The highest mean."""
        return max(line.mean(metric) for line in self.lines)


def tables(store: Store, datasets: Iterable[str] | None = None) -> list[ResultTable]:
    """A table for each dataset and reported split of the store."""
    found = []
    for dataset in datasets or store.datasets():
        rows, notes = _rows(store.cells(dataset))
        splits = [
            split
            for split in dict.fromkeys(s for cells in rows for s in cells[0].figures)
            if any(
                split in cells[0].figures and not cells[0].figures[split]["dev"] for cells in rows
            )
        ]
        for split in splits:
            lines = [_line(cells, split) for cells in rows if split in cells[0].figures]
            found.append(ResultTable(dataset, split, tuple(_sorted(lines)), tuple(notes)))
    return found


def records(found: Iterable[ResultTable]) -> list[dict[str, Any]]:
    """One record per row, for scripts."""
    return [_record(line) for table in found for line in table.lines]


def summary(found: Iterable[ResultTable], store: Store) -> list[dict[str, Any]]:
    """One entry per row and metric: dataset, protocol, mean, interval, paper, command."""
    return [_entry(line, metric, store) for t in found for line in t.lines for metric in METRICS]


def public_split(split: str) -> str:
    """``test`` for ``test-clean`` and its like: the protocol says which questions count."""
    name, _, form = split.rpartition("-")
    return name if form in FORMS else split


def command(line: Line, store: Store) -> str:
    """What reprints a row."""
    quick = " --quick" if store.quick else ""
    seeds = max(cell.seed for cell in line.cells)
    # the first seed decides whether there are others; of a fusion, those of its parts
    parts = line.model.split("+") if line.cells[0].kind == "fusion" else [line.model]
    firsts = [store.cell(line.dataset, part, 1) for part in parts]
    took = max((cell.seconds for cell in firsts if cell), default=0.0)
    patience = f" --longest {math.ceil(took / 60)}" if seeds > 1 and took > LONGEST else ""
    return (
        f"askonce bench {line.dataset} --data $ASKONCE_DATA --models {line.model} "
        f"--seeds {seeds} --out {store.folder.name}{patience}{quick}"
    )


def _rows(cells: Iterable[StoredCell]) -> tuple[list[tuple[StoredCell, ...]], list[str]]:
    """Cells of one model together; seeds that were run with older settings are left out."""
    by_model: dict[str, list[StoredCell]] = {}
    for cell in cells:
        by_model.setdefault(cell.model, []).append(cell)
    rows, notes = [], []
    for model, found in by_model.items():
        newest = max(found, key=lambda cell: str(cell.record["finished"]))
        same = tuple(c for c in found if _told(c) == _told(newest))
        if len(same) < len(found):
            old = ", ".join(str(cell.seed) for cell in found if cell not in same)
            notes.append(f"{model}: seeds {old} are left out, run with other settings")
        rows.append(same)
    return rows, notes


def _told(cell: StoredCell) -> str:
    return json.dumps(cell.settings, sort_keys=True)


def _line(cells: tuple[StoredCell, ...], split: str) -> Line:
    figures = cells[0].figures[split]
    return Line(split, figures["protocol"], figures["queries"], cells)


def _sorted(lines: Sequence[Line]) -> list[Line]:
    metric = main_metric(lines[0].dataset)
    return sorted(lines, key=lambda line: (KINDS.index(line.kind), line.mean(metric)))


def _record(line: Line) -> dict[str, Any]:
    first = line.cells[0]
    names = ("parameters", "pairs_per_second", "texts_per_second", "pretrain_seconds", "peak_bytes")
    return {
        "dataset": line.dataset,
        "split": line.split,
        "protocol": line.protocol,
        "model": line.model,
        "seeds": line.seeds,
        "queries": line.queries,
        "metrics": {metric: _figures(line.summaries[metric]) for metric in METRICS},
        "tied_positives": first.figures[line.split]["tied_positives"],
        "fit_seconds": _rounded(line.fact("train_seconds")),
        **{name: _rounded(line.fact(name)) for name in names},
    }


def _entry(line: Line, metric: str, store: Store) -> dict[str, Any]:
    found, paper = line.summaries[metric], line.paper(metric)
    return {
        "dataset": line.dataset,
        "protocol": line.protocol,
        "split": public_split(line.split),
        "model": line.model,
        "metric": metric,
        "mean": found.mean,
        "low": found.interval.low if found.interval else None,
        "high": found.interval.high if found.interval else None,
        "seeds": line.seeds,
        "paper": paper.value if paper and not paper.elsewhere else None,
        "command": command(line, store),
    }


def _figures(found: Summary) -> dict[str, float | None]:
    low, high = (found.interval.low, found.interval.high) if found.interval else (None, None)
    return {"mean": found.mean, "low": low, "high": high, "sd": found.spread}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
