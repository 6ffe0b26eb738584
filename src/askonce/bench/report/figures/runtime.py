"""How long an epoch takes, as figure 3 of the CTRN paper."""

from askonce.bench.report.blocks import Block, Plot
from askonce.bench.report.charts import Bar, BarChart
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import ResultTable, last_tables

ABOUT = (
    "Median seconds of an epoch after the first, ranking of dev included, over all seeds; after "
    "figure 3 of the CTRN paper (LSTM, AP-BiLSTM, QRNN and CTRN with d = 800: rows such as "
    "ctrn@model.dim=800). Other rows ran at the same time, and recipes differ in size and batch: "
    "compare rows of similar settings, not machines."
)


@add_figure("runtime", last_tables)
def runtime(table: ResultTable) -> Block | None:
    seconds = {
        result.model: value
        for result in table.results
        if result.kind == "trained" and (value := result.epoch_seconds()) is not None
    }
    bars = [Bar(name, seconds[name], f"{seconds[name]:,.1f} s") for name in seconds]
    bars.sort(key=lambda bar: bar.value)
    title = f"Seconds per epoch: {table.dataset}"
    return Plot(title, ABOUT, BarChart(bars, "seconds")) if bars else None
