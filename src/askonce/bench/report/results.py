"""From a store to what tables show: means over seeds, intervals, tests, the papers' numbers."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import Any

from askonce.bench.data import main_metric
from askonce.bench.report.published import Conditions, Published, published
from askonce.bench.rows.trained import up_to_date
from askonce.bench.store import LONGEST, Store, StoredCell
from askonce.errors import ConfigError
from askonce.evaluation import METRICS, Comparison, Estimate, compare, estimate
from askonce.teachers import MINILM

LEVEL = 0.05  # of significance
BASES = ("bm25", "minilm")  # every row is tested against these
KINDS = ("baseline", "transformer", "trained", "fusion")  # their order in a table
FORMS = ("raw", "clean", "lemma")  # suffixes of splits that differ in text or questions only


@dataclass(frozen=True)
class Result:
    split: str
    cells: tuple[StoredCell, ...]  # one per seed

    @property
    def dataset(self) -> str:
        return self.cells[0].dataset

    @property
    def model(self) -> str:
        return self.cells[0].model

    @property
    def kind(self) -> str:
        return self.cells[0].kind

    @property
    def protocol(self) -> str:
        return str(self.cells[0].figures[self.split]["protocol"])

    @property
    def queries(self) -> int:
        return int(self.cells[0].figures[self.split]["queries"])

    @property
    def seeds(self) -> int:
        return len(self.cells)

    @property
    def first(self) -> StoredCell:
        return min(self.cells, key=lambda cell: cell.seed)

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Each metric's mean over seeds, with its interval over queries."""
        return {
            metric: estimate([cell.values(self.split, metric) for cell in self.cells])
            for metric in METRICS
        }

    def mean(self, metric: str) -> float:
        return fmean(cell.figures[self.split]["metrics"][metric] for cell in self.cells)

    def by_query(self, metric: str) -> dict[str, float]:
        """A metric's mean over seeds for each query."""
        values = [cell.values(self.split, metric) for cell in self.cells]
        return {query: fmean(seed[query] for seed in values) for query in values[0]}

    def dev(self, metric: str) -> float | None:
        values = [
            figures["metrics"][metric]
            for cell in self.cells
            for figures in cell.figures.values()
            if figures["dev"]
        ]
        return fmean(values) if values else None

    def fact(self, name: str) -> float | None:
        values = [cell.facts[name] for cell in self.cells if cell.facts.get(name) is not None]
        return fmean(values) if values else None

    def epoch_seconds(self) -> float | None:
        """The median seconds of an epoch after the first, if there is one."""
        seconds = [
            record["seconds"]
            for cell in self.cells
            for record in cell.curve()
            if record["epoch"] > 1
        ]
        return median(seconds) if seconds else None

    @cached_property
    def conditions(self) -> Conditions:
        """What its figures depend on besides the model, to compare with published ones."""
        stored = self.first.settings
        splits, row = stored.get("data", {}), stored.get("row", {})
        return Conditions(
            self.dataset,
            self.protocol,
            splits[self.split][1] if self.split in splits else None,
            train_split(row, splits) if self.kind == "trained" else None,
            features(row) if self.kind == "trained" else None,
            MINILM if self.model == "cross-encoder" else None,
        )

    def paper(self, metric: str) -> Published | None:
        return published(self.conditions, self.model, metric)

    def paper_text(self, metric: str) -> str:
        """The published number, in brackets if it is not comparable; a dash without one."""
        paper = self.paper(metric)
        return "–" if paper is None else paper.text


def train_split(row: Mapping[str, Any], splits: Mapping[str, Any]) -> str | None:
    """The split that a trained row learned from; by default TrecQA's TRAIN-ALL if there is one."""
    default = "train-all" if "train-all" in splits else "train"
    return str(row["recipe"]["train"]["split"] or default) if "recipe" in row else None


def features(row: Mapping[str, Any]) -> frozenset[str] | None:
    """The inputs of a trained row besides the texts."""
    if "recipe" not in row:
        return None
    options = row["recipe"]["options"]
    return frozenset(name for name in ("overlap", "flags") if options.get(name))


@dataclass(frozen=True)
class ResultTable:
    dataset: str
    split: str
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        return main_metric(self.dataset)

    @property
    def title(self) -> str:
        first = self.results[0]
        return (
            f"{self.dataset} · {self.split} · {first.queries:,} questions · "
            f"protocol {first.protocol}"
        )

    @cached_property
    def comparisons(self) -> dict[str, dict[str, Comparison]]:
        values = {result.model: result.by_query(self.metric) for result in self.results}
        by_base = {}
        for base in BASES:
            others = {name: row for name, row in values.items() if name != base}
            if base in values and others and len(values[base]) > 1:
                by_base[base] = {c.name: c for c in compare(values[base], others)}
        return by_base

    def mark(self, result: Result, base: str) -> int:
        """1 if the row is significantly better than the base, -1 if worse, else 0."""
        comparison = self.comparisons.get(base, {}).get(result.model)
        if comparison is None or comparison.randomisation_holm >= LEVEL:
            return 0
        return 1 if comparison.difference > 0 else -1

    def best(self, metric: str) -> float:
        return max(result.mean(metric) for result in self.results)


def tables(store: Store, datasets: Iterable[str] | None = None) -> list[ResultTable]:
    """A table for each dataset and reported split of the store."""
    made = []
    for dataset in datasets or store.datasets():
        rows, notes = _same_settings(store.cells(dataset))
        splits = dict.fromkeys(
            split
            for cells in rows
            for split, figures in cells[0].figures.items()
            if not figures["dev"]
        )
        metric = main_metric(dataset)
        for split in splits:
            results = [Result(split, cells) for cells in rows if split in cells[0].figures]
            results.sort(key=lambda result: (KINDS.index(result.kind), result.mean(metric)))
            made.append(ResultTable(dataset, split, tuple(results), tuple(notes)))
    return made


def last_tables(store: Store) -> list[ResultTable]:
    """One table per dataset, that of its last split: of TrecQA the clean questions."""
    return list({table.dataset: table for table in tables(store)}.values())


def records(tables: Iterable[ResultTable]) -> list[dict[str, Any]]:
    """One record per row, for scripts."""
    return [_record(result) for table in tables for result in table.results]


def summary_entries(tables: Iterable[ResultTable], store: Store) -> list[dict[str, Any]]:
    """One entry per row and metric: dataset, protocol, mean, interval, paper, command."""
    results = [result for table in tables for result in table.results]
    return [_entry(result, metric, store) for result in results for metric in METRICS]


SAME = 0.002  # by how much the figures of equal rankers may differ, by rounding of vectors


def with_earlier(
    entries: Sequence[dict[str, Any]], earlier: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """These entries and those of an earlier summary whose rows are not among them.

    An earlier row over more seeds is kept in place of the one here. Earlier fusions of a row that
    has other figures now are left out: they fused another ranker.
    """

    def key(entry: Mapping[str, Any], model: str) -> tuple[str, ...]:
        names = ("dataset", "protocol", "split", "metric")
        return (*(entry[name] for name in names), model)

    before = {key(entry, entry["model"]): entry for entry in earlier}
    now = {
        name: entry
        for entry in entries
        if (name := key(entry, entry["model"])) not in before
        or entry["seeds"] >= before[name]["seeds"]
    }

    def changed(entry: Mapping[str, Any], part: str) -> bool:
        name = key(entry, part)
        both = name in before and name in now
        return both and abs(before[name]["mean"] - now[name]["mean"]) > SAME

    stale = {
        name
        for name, entry in before.items()
        if any(changed(entry, part) for part in entry["model"].split("+"))
    }
    retained = {name: entry for name, entry in before.items() if name in now or name not in stale}
    merged = retained | now
    tables = {(entry["dataset"], entry["protocol"]) for entry in merged.values()}
    in_order = sorted(tables, key=lambda table: (table[0], table[1] == "clean"))
    order = {table: n for n, table in enumerate(in_order)}
    return sorted(merged.values(), key=lambda e: order[e["dataset"], e["protocol"]])


def public_split(split: str) -> str:
    """``test`` for ``test-clean`` and the like: the protocol says which questions count."""
    name, _, form = split.rpartition("-")
    return name if form in FORMS else split


def command(result: Result, store: Store) -> str:
    """The command that reproduces a row."""
    quick = " --quick" if store.quick else ""
    seeds = max(cell.seed for cell in result.cells)
    # the first seed decides whether there are others; of a fusion, those of its parts
    parts = result.model.split("+") if result.kind == "fusion" else [result.model]
    firsts = [store.cell(result.dataset, part, 1) for part in parts]
    seconds = max((cell.seconds for cell in firsts if cell), default=0.0)
    longest = f" --longest {math.ceil(seconds / 60)}" if seeds > 1 and seconds > LONGEST else ""
    return (
        f"askonce bench {result.dataset} --data $ASKONCE_DATA --models {result.model} "
        f"--seeds {seeds} --out {store.folder.name}{longest}{quick}"
    )


def _same_settings(cells: Iterable[StoredCell]) -> tuple[list[tuple[StoredCell, ...]], list[str]]:
    """The cells of each model; seeds that were run with older settings are left out and noted."""
    by_model: dict[str, list[StoredCell]] = {}
    for cell in cells:
        by_model.setdefault(cell.model, []).append(cell)
    rows, notes = [], []
    for model, every in by_model.items():
        newest = max(every, key=lambda cell: cell.finished)
        same = tuple(cell for cell in every if _settings_key(cell) == _settings_key(newest))
        if len(same) < len(every):
            old = ", ".join(str(cell.seed) for cell in every if cell not in same)
            notes.append(f"{model}: seeds {old} are left out, run with other settings")
        rows.append(same)
    return rows, notes


def _settings_key(cell: StoredCell) -> str:
    try:
        row = up_to_date(cell.settings.get("row", {}))
    except ConfigError:  # a setting that no longer exists
        row = dict(cell.settings["row"])
    return json.dumps({**cell.settings, "row": row}, sort_keys=True)


def _record(result: Result) -> dict[str, Any]:
    names = ("parameters", "pairs_per_second", "texts_per_second", "pretrain_seconds", "peak_bytes")
    return {
        "dataset": result.dataset,
        "split": result.split,
        "protocol": result.protocol,
        "model": result.model,
        "seeds": result.seeds,
        "queries": result.queries,
        "metrics": {metric: _figures(result.estimates[metric]) for metric in METRICS},
        "tied_positives": result.cells[0].figures[result.split]["tied_positives"],
        "fit_seconds": _rounded(result.fact("train_seconds")),
        **{name: _rounded(result.fact(name)) for name in names},
    }


def _entry(result: Result, metric: str, store: Store) -> dict[str, Any]:
    figures, paper = _figures(result.estimates[metric]), result.paper(metric)
    return {
        "dataset": result.dataset,
        "protocol": result.protocol,
        "split": public_split(result.split),
        "model": result.model,
        "metric": metric,
        **{name: figures[name] for name in ("mean", "low", "high")},
        "seeds": result.seeds,
        "paper": paper.value if paper and not paper.unlike else None,
        "command": command(result, store),
    }


def _figures(one: Estimate) -> dict[str, float | None]:
    low, high = one.bounds
    return {"mean": one.mean, "low": low, "high": high, "sd": one.deviation}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
