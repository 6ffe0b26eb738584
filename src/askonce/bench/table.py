"""The figures of several cells as records for scripts and as a table for people."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from rich.table import Table

from askonce.bench.run import Cell
from askonce.evaluation import METRICS, Comparison, Summary, compare, summarise

LEVEL = 0.05


def records(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """One record per cell: each metric's mean over seeds and its interval over queries."""
    return [_record(cell) for cell in cells]


def _record(cell: Cell) -> dict[str, Any]:
    return {
        "dataset": cell.dataset,
        "split": cell.split,
        "protocol": cell.protocol,
        "model": cell.model,
        "seeds": len(cell.seeds),
        "queries": cell.reports[0].queries,
        "metrics": {metric: _figures(_summary(cell, metric)) for metric in METRICS},
        "tied_positives": cell.reports[0].tied_positives,
        "fit_seconds": round(cell.fit_seconds, 3),
        "pairs_per_second": round(cell.pairs_per_second, 1),
    }


def _figures(summary: Summary) -> dict[str, float | None]:
    low, high = (summary.interval.low, summary.interval.high) if summary.interval else (None, None)
    return {"mean": summary.mean, "low": low, "high": high, "sd": summary.spread}


def table(cells: Sequence[Cell], metric: str = "MAP", against: str = "bm25") -> Table:
    """A table of one dataset; a star marks what differs from ``against``, Holm-corrected."""
    first = cells[0]
    title = f"{first.dataset} · {first.split} · {first.reports[0].queries} questions"
    shown = Table(title=f"{title} · protocol {first.protocol}", title_justify="left")
    shown.add_column("model")
    for name in (*METRICS, f"{metric} 95 %", "fit s", "pairs/s"):
        shown.add_column(name, justify="right")
    differing = {
        c.name for c in comparisons(cells, metric, against) if c.randomisation_holm < LEVEL
    }
    for cell in cells:
        interval = _summary(cell, metric).interval
        shown.add_row(
            cell.model + ("*" if cell.model in differing else ""),
            *(f"{_summary(cell, m).mean:.4f}" for m in METRICS),
            f"{interval.low:.3f}–{interval.high:.3f}" if interval else "",
            f"{cell.fit_seconds:.1f}",
            f"{cell.pairs_per_second:,.0f}",
        )
    if differing:
        shown.caption = f"* {metric} differs from {against}: randomisation test, Holm, p < {LEVEL}"
        shown.caption_justify = "left"
    return shown


def markdown(rows: Sequence[Mapping[str, Any]], metric: str = "MAP") -> str:
    """One metric of stored records: a row for each model, a column for each dataset and split."""
    columns = list(dict.fromkeys((row["dataset"], row["split"]) for row in rows))
    models = list(dict.fromkeys(row["model"] for row in rows))
    values = {(r["model"], r["dataset"], r["split"]): r["metrics"][metric]["mean"] for r in rows}
    lines = ["| model | " + " | ".join(f"{name} {split}" for name, split in columns) + " |"]
    lines.append("|---|" + "---:|" * len(columns))
    for model in models:
        cells = (values.get((model, *column)) for column in columns)
        shown = " | ".join("–" if value is None else f"{value:.3f}" for value in cells)
        lines.append(f"| {model} | {shown} |")
    return "\n".join(lines)


def comparisons(cells: Sequence[Cell], metric: str, against: str) -> list[Comparison]:
    """Each cell's per-query values against those of one of them; none when that one was not run."""
    values = {cell.model: _mean_over_seeds(cell, metric) for cell in cells}
    base = values.pop(against, None)
    return compare(base, values) if base and values and len(base) > 1 else []


def _summary(cell: Cell, metric: str) -> Summary:
    return summarise([report.values(metric) for report in cell.reports])


def _mean_over_seeds(cell: Cell, metric: str) -> dict[str, float]:
    by_seed = [report.values(metric) for report in cell.reports]
    return {query: fmean(values[query] for values in by_seed) for query in by_seed[0]}
