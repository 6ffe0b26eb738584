"""Every row relative to one reference in quality, size and speed, as table 7 of HyperQA."""

from askonce.bench.report.blocks import Block, Table
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import Result, ResultTable, tables

REFERENCE = "hyperqa"
KINDS = ("trained", "transformer")
ABOUT = (
    "Each recipe relative to {name}: {metric} in per cent more or less; parameters, seconds per "
    "epoch and seconds to score a pair as a multiple, so that 10× costs ten times as much. After "
    "table 7 of the HyperQA paper, computed."
)


@add_figure("ratios", tables)
def ratios(table: ResultTable) -> Block | None:
    shown = [result for result in table.results if result.kind in KINDS and "@" not in result.model]
    reference = _reference([result for result in shown if result.kind == "trained"])
    if reference is None or len(shown) < 2 or not reference.mean(table.metric):
        return None
    rows = [
        [result.model, *_cells(result, reference, table.metric)]
        for result in sorted(shown, key=_size)
        if result is not reference
    ]
    return Table(
        f"Relative to {reference.model}: {table.dataset} {table.split}",
        ABOUT.format(name=reference.model, metric=table.metric),
        ["model", table.metric, "parameters", "seconds per epoch", "seconds per pair"],
        rows,
    )


def _reference(trained: list[Result]) -> Result | None:
    """HyperQA if it was run, else the smallest row."""
    named = [result for result in trained if result.model == REFERENCE]
    sized = [result for result in trained if result.fact("parameters")]
    return next(iter(named or sorted(sized, key=_size)), None)


def _size(result: Result) -> float:
    return result.fact("parameters") or 0.0


def _cells(result: Result, reference: Result, metric: str) -> list[str]:
    change = 100 * (result.mean(metric) / reference.mean(metric) - 1)
    speed, base = result.fact("pairs_per_second"), reference.fact("pairs_per_second")
    return [
        f"{change:+.1f} %",
        _times(result.fact("parameters"), reference.fact("parameters")),
        _times(result.epoch_seconds(), reference.epoch_seconds()),
        _times(base, speed),  # pairs per second: the inverse
    ]


def _times(value: float | None, base: float | None) -> str:
    if not value or not base:
        return "–"
    times = value / base
    return f"{times:,.0f}×" if times >= 10 else f"{times:.2g}×"
