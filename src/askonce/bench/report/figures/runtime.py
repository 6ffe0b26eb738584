"""How long an epoch takes, as figure 3 of the CTRN paper."""

from statistics import median

from askonce.bench.report.blocks import Block, Picture
from askonce.bench.report.charts import Bar, bar_chart
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.figures.average_rank import last_of_each
from askonce.bench.report.results import Line, ResultTable, tables
from askonce.bench.store import Store

ABOUT = (
    "Median seconds of an epoch without the first, ranking of dev included, over all seeds; after "
    "figure 3 of the CTRN paper (LSTM, AP-BiLSTM, QRNN and CTRN with d = 800: rows such as "
    "ctrn@model.dim=800). Other rows ran at the same time, and recipes differ in size and batch: "
    "compare rows of like settings, not machines."
)


@FIGURES.add("runtime")
def runtime(store: Store) -> list[Block]:
    """Bars for each dataset with a trained row."""
    return [block for table in last_of_each(tables(store)) if (block := _bars(table)) is not None]


def epoch_seconds(line: Line) -> float | None:
    """The median seconds of an epoch after the first; none where no row went further."""
    seconds = [
        record["seconds"] for cell in line.cells for record in cell.curve() if record["epoch"] > 1
    ]
    return median(seconds) if seconds else None


def _bars(table: ResultTable) -> Block | None:
    trained = [line for line in table.lines if line.kind == "trained"]
    found = [(line.model, value) for line in trained if (value := epoch_seconds(line)) is not None]
    if not found:
        return None
    bars = [Bar(name, value, f"{value:,.1f} s") for name, value in sorted(found, key=_by_value)]
    return Picture(f"Seconds per epoch: {table.dataset}", ABOUT, bar_chart(bars, "seconds"))


def _by_value(pair: tuple[str, float]) -> float:
    return pair[1]
