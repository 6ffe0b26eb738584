"""The main table of a dataset, for reports and the terminal, and the README's short table."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import rich.table

from askonce.bench.data import main_metric
from askonce.bench.report.blocks import Cell, Span, Table, number_text
from askonce.bench.report.histories import ended_early
from askonce.bench.report.results import BASES, LEVEL, Result, ResultTable
from askonce.errors import AskonceError
from askonce.evaluation import METRICS

MARKS = {"bm25": {1: "▲", -1: "▼"}, "minilm": {1: "△", -1: "▽"}}
LEGEND = (
    "Compared with BM25: ▲ better, ▼ worse; with MiniLM: △ better, ▽ worse (randomisation test "
    f"over questions, Holm-corrected, p < {LEVEL})."
)
# fixed, so that no row is shown because its test figure came out well
README_ROWS = (
    "bm25", "minilm", "cross-encoder", "adapter", "adapter-mpnet", "student",
    "hyperqa", "cosineqa", "ctrn", "qrnn", "qa-lstm",
    "attentive-lstm", "conv-pooling-lstm", "compare-aggregate", "cabin", "rcnn",
    "rcnn@pretrain=false", "lstm", "gru", "cnn",
)  # fmt: skip


def marks(name: str) -> tuple[str, str]:
    """The lines between which a file has a table."""
    return f"<!-- {name} -->", f"<!-- end of {name} -->"


def result_table(table: ResultTable) -> Table:
    """A dataset's rows: our mean and interval, the paper's number, costs."""
    metric = table.metric
    header = [
        "model", f"{metric} [95 %]", "paper", *(m for m in METRICS if m != metric),
        f"dev {metric}", "seeds", "train", "texts/s", "pairs/s", "parameters",
    ]  # fmt: skip
    rows = [_cells(table, result) for result in table.results]
    return Table(table.title, LEGEND, header, rows, _notes(table))


def terminal(table: ResultTable) -> rich.table.Table:
    """The same for a terminal."""
    block = result_table(table)
    shown = rich.table.Table(
        title=block.title, title_justify="left", caption=LEGEND, caption_justify="left"
    )
    for n, name in enumerate(block.header):
        shown.add_column(name.replace("[", "\\["), justify="right" if n else "left")
    for row in block.rows:
        cells = (c if isinstance(c, str) else " ".join(span.text for span in c) for c in row)
        shown.add_row(*(cell.replace("[", "\\[") for cell in cells))
    return shown


def short_table(entries: Iterable[Mapping[str, Any]]) -> str:
    """Means of ``summary.json`` by row and test set; in brackets fused with BM25, with MiniLM."""
    by_test: dict[tuple[str, str], dict[str, float]] = {}
    for entry in entries:
        if entry["metric"] == main_metric(entry["dataset"]):
            means = by_test.setdefault((entry["dataset"], entry["protocol"]), {})
            means[entry["model"]] = entry["mean"]
    names = [_column(*key, [dataset for dataset, _ in by_test]) for key in by_test]
    lines = [_markdown_row(["", *names]), _markdown_row(["---", *("---:" for _ in names)])]
    for model in README_ROWS:
        cells = [_mean_and_fusions(model, means) for means in by_test.values()]
        if any(cells):
            lines.append(_markdown_row([model, *cells]))
    return "\n".join(lines)


def put_between_marks(table: str, path: Path, name: str = "results") -> None:
    """Replace what stands between the two marks of a file."""
    first, last = marks(name)
    before, _, after = _around_marks(path, name)
    path.write_text(f"{before}{first}\n{table}\n{last}{after}", "utf-8")


def between_marks(path: Path, name: str) -> str:
    """What stands between the two marks of a file."""
    return _around_marks(path, name)[1].strip("\n")


def _around_marks(path: Path, name: str) -> tuple[str, str, str]:
    first, last = marks(name)
    before, begin, rest = path.read_text("utf-8").partition(first)
    between, end, after = rest.partition(last)
    if not begin or not end:
        missing = f"{first} and {last}"
        raise AskonceError(f"{str(path)!r} has no lines {missing} to put the table between")
    return before, between, after


def _cells(table: ResultTable, result: Result) -> list[Cell]:
    metric = table.metric
    return [
        result.model,
        _main(table, result),
        result.paper_text(metric),
        *(
            _bold_if(result.mean(name) == table.best(name), f"{result.mean(name):.3f}")
            for name in METRICS
            if name != metric
        ),
        number_text(result.dev(metric), ".3f"),
        str(result.seeds),
        _seconds((result.fact("train_seconds") or 0) + (result.fact("pretrain_seconds") or 0)),
        number_text(result.fact("texts_per_second")),
        number_text(result.fact("pairs_per_second")),
        number_text(result.fact("parameters") or None),
    ]


def _main(table: ResultTable, result: Result) -> Cell:
    estimate = result.estimates[table.metric]
    marks = "".join(MARKS[base].get(table.mark(result, base), "") for base in BASES)
    best = max(other.estimates[table.metric].mean for other in table.results)
    return _bold_if(estimate.mean == best, f"{estimate} {marks}".strip())


def _bold_if(bold: bool, text: str) -> Cell:
    return [Span(text, "bold")] if bold else text


def _notes(table: ResultTable) -> list[str]:
    papers = [paper for result in table.results if (paper := result.paper(table.metric))]
    sources = dict.fromkeys(paper.source for paper in papers if not paper.unlike)
    notes = [f"Paper: {'; '.join(sources)}."] if sources else []
    unlike: dict[str, list[str]] = {}  # rows by the reason why their number is in brackets
    for result in table.results:
        if (paper := result.paper(table.metric)) and paper.unlike:
            reason = f"{', '.join(paper.unlike)} ({paper.source})"
            unlike.setdefault(reason, []).append(result.model)
    reasons = [f"{', '.join(models)}: {reason}" for reason, models in unlike.items()]
    notes += [f"In brackets, not comparable: {'; '.join(reasons)}."] if reasons else []
    early = [r.model for r in table.results if any(ended_early(cell) for cell in r.cells)]
    notes += [f"Reached the limit of epochs while dev rose: {', '.join(early)}."] if early else []
    few = [r.model for r in table.results if r.kind == "trained" and r.seeds < 3]
    notes += [f"Fewer than three seeds: {', '.join(few)}."] if few else []
    return [*notes, *table.notes]


def _seconds(value: float) -> str:
    if value < 0.05:
        return "–"
    return f"{value:.1f} s" if value < 60 else f"{value / 60:.1f} min"


def _column(dataset: str, protocol: str, datasets: Sequence[str]) -> str:
    """The dataset, its protocol if it has two columns, and the metric."""
    name = {"trec": "raw"}.get(protocol, protocol) if datasets.count(dataset) > 1 else ""
    return f"{dataset} {name}".strip() + f", {main_metric(dataset)}"


def _mean_and_fusions(model: str, means: Mapping[str, float]) -> str:
    if model not in means:
        return ""
    fusions = [means.get(f"{base}+{model}") for base in BASES if base != model]
    shown = ", ".join(number_text(mean, ".3f") for mean in fusions)
    return f"{means[model]:.3f}" + (
        f" ({shown})" if any(mean is not None for mean in fusions) else ""
    )


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
