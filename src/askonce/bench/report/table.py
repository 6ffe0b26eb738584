"""Tables of results: for the terminal, for reports, and of stored records for the README."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from askonce.bench.report.blocks import Grid
from askonce.bench.report.results import BASES, LEVEL, Line, ResultTable
from askonce.evaluation import METRICS

MARKS = {"bm25": {1: "▲", -1: "▼"}, "minilm": {1: "△", -1: "▽"}}
LEGEND = (
    f"Against BM25 ▲ better ▼ worse, against MiniLM △ better ▽ worse: randomisation test over "
    f"questions, Holm-corrected, p < {LEVEL}."
)


def grid(table: ResultTable) -> Grid:
    """A dataset's rows: our mean and interval, the paper's number, costs."""
    metric = table.metric
    header = [
        "model", f"{metric} [95 %]", "paper", *(m for m in METRICS if m != metric),
        f"dev {metric}", "seeds", "train", "texts/s", "pairs/s", "parameters",
    ]  # fmt: skip
    rows = [_cells(table, line) for line in table.lines]
    return Grid(f"{table.title}", LEGEND, header, rows, _notes(table))


def terminal(table: ResultTable) -> Table:
    """The same for a terminal."""
    found = grid(table)
    shown = Table(title=found.title, title_justify="left", caption=LEGEND, caption_justify="left")
    for place, name in enumerate(found.header):
        shown.add_column(name.replace("[", "\\["), justify="right" if place else "left")
    for row in found.rows:
        shown.add_row(*(cell.replace("**", "").replace("[", "\\[") for cell in row))
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


def _cells(table: ResultTable, line: Line) -> list[str]:
    metric = table.metric
    dev = line.dev(metric)
    return [
        line.model,
        _main(table, line),
        _paper(line, metric),
        *(_value(table, line, name) for name in METRICS if name != metric),
        "–" if dev is None else f"{dev:.3f}",
        str(line.seeds),
        _seconds((line.fact("train_seconds") or 0) + (line.fact("pretrain_seconds") or 0)),
        _number(line.fact("texts_per_second")),
        _number(line.fact("pairs_per_second")),
        _number(line.fact("parameters") or None),
    ]


def _main(table: ResultTable, line: Line) -> str:
    found = line.summaries[table.metric]
    interval = f" [{found.interval.low:.3f}–{found.interval.high:.3f}]" if found.interval else ""
    marks = "".join(MARKS[base].get(table.mark(line, base), "") for base in BASES)
    best = found.mean == max(row.summaries[table.metric].mean for row in table.lines)
    text = f"{found.mean:.3f}{interval}{' ' + marks if marks else ''}"
    return f"**{text}**" if best else text


def _value(table: ResultTable, line: Line, metric: str) -> str:
    value = line.mean(metric)
    return f"**{value:.3f}**" if value == table.best(metric) else f"{value:.3f}"


def _paper(line: Line, metric: str) -> str:
    found = line.paper(metric)
    if found is None:
        return "–"
    return f"({found.value:.3f})" if found.elsewhere else f"{found.value:.3f}"


def _notes(table: ResultTable) -> list[str]:
    papers = [found for line in table.lines if (found := line.paper(table.metric))]
    sources = dict.fromkeys(found.source for found in papers if not found.elsewhere)
    others = dict.fromkeys(f"{p.elsewhere} ({p.source})" for p in papers if p.elsewhere)
    notes = [f"Paper: {'; '.join(sources)}."] if sources else []
    notes += [f"In brackets: the paper's number on {'; '.join(others)}."] if others else []
    few = [line.model for line in table.lines if line.kind == "trained" and line.seeds < 3]
    notes += [f"Fewer than three seeds: {', '.join(few)}."] if few else []
    return [*notes, *table.notes]


def _seconds(value: float) -> str:
    if value < 0.05:
        return "–"
    return f"{value:.1f} s" if value < 60 else f"{value / 60:.1f} min"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"
