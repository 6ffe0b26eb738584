"""Every row against one reference in quality, size and speed, as table 7 of the HyperQA paper."""

from askonce.bench.report.blocks import Block, Grid
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.figures.runtime import epoch_seconds
from askonce.bench.report.results import Line, ResultTable, tables
from askonce.bench.store import Store

REFERENCE = "hyperqa"
KINDS = ("trained", "transformer")
ABOUT = (
    "Each recipe divided by the reference, {name}: {metric} in per cent more or less; parameters, "
    "seconds per epoch and seconds to score a pair as a multiple, so that 10× costs ten times as "
    "much. After table 7 of the HyperQA paper, computed."
)


@FIGURES.add("ratios")
def ratios(store: Store) -> list[Block]:
    """A table for each dataset and split with a reference and another row."""
    return [block for table in tables(store) if (block := _grid(table)) is not None]


def _grid(table: ResultTable) -> Block | None:
    shown = [line for line in table.lines if line.kind in KINDS and "@" not in line.model]
    reference = _reference([line for line in shown if line.kind == "trained"])
    if reference is None or len(shown) < 2 or not reference.mean(table.metric):
        return None
    rows = [
        [line.model, *_cells(line, reference, table.metric)]
        for line in sorted(shown, key=_size)
        if line is not reference
    ]
    return Grid(
        f"Relative to {reference.model}: {table.dataset} {table.split}",
        ABOUT.format(name=reference.model, metric=table.metric),
        ["model", table.metric, "parameters", "seconds per epoch", "seconds per pair"],
        rows,
    )


def _reference(trained: list[Line]) -> Line | None:
    """HyperQA where it was run, else the smallest row."""
    named = [line for line in trained if line.model == REFERENCE]
    sized = [line for line in trained if line.fact("parameters")]
    return next(iter(named or sorted(sized, key=_size)), None)


def _size(line: Line) -> float:
    return line.fact("parameters") or 0.0


def _cells(line: Line, reference: Line, metric: str) -> list[str]:
    change = 100 * (line.mean(metric) / reference.mean(metric) - 1)
    slow, base = line.fact("pairs_per_second"), reference.fact("pairs_per_second")
    return [
        f"{change:+.1f} %",
        _times(line.fact("parameters"), reference.fact("parameters")),
        _times(epoch_seconds(line), epoch_seconds(reference)),
        _times(base, slow),  # pairs a second: the inverse
    ]


def _times(value: float | None, base: float | None) -> str:
    if not value or not base:
        return "–"
    times = value / base
    return f"{times:,.0f}×" if times >= 10 else f"{times:.2g}×"
