"""Speed: quality against pairs per second, seconds per epoch, and how long the bench took."""

from askonce.bench.report.blocks import Block, Plot, Table
from askonce.bench.report.charts import Bar, BarChart, Dot, ScatterChart
from askonce.bench.report.figures import FIGURES, add_figure
from askonce.bench.report.results import ResultTable, last_tables, tables
from askonce.bench.store import Store

EPOCH = (
    "Median seconds of an epoch after the first, ranking of dev included, over all seeds; after "
    "figure 3 of the CTRN paper (LSTM, AP-BiLSTM, QRNN and CTRN with d = 800: rows such as "
    "ctrn@model.dim=800). Other rows ran at the same time, and recipes differ in size and batch: "
    "compare rows of similar settings, not machines."
)
BENCH_HEADER = ("dataset", "cells", "longest", "all, on one core", "on two")
BENCH = (
    "Minutes of processor time of all cells of a dataset, one for each row and seed; wall time for "
    "cells that were resumed."
)


@add_figure("quality-speed", tables)
def quality_speed(table: ResultTable) -> Block | None:
    dots = [
        Dot(result.model, speed, result.mean(table.metric), result.kind)
        for result in table.results
        if result.model != "random" and (speed := result.fact("pairs_per_second")) is not None
    ]
    if len(dots) < 2:
        return None
    about = (
        f"{table.metric} on test against the pairs of question and candidate scored per second, "
        "reading of texts included. Up and to the right is better."
    )
    title = f"Quality and speed: {table.dataset} {table.split}"
    return Plot(title, about, ScatterChart(dots, "pairs per second", table.metric))


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
    return Plot(title, EPOCH, BarChart(bars, "seconds")) if bars else None


@FIGURES.add("bench-time")
def bench_time(store: Store) -> list[Block]:
    rows = []
    for name in store.datasets():
        minutes = [cell.seconds / 60 for cell in store.cells(name)]
        figures = (max(minutes), sum(minutes), sum(minutes) / 2)
        rows.append([name, str(len(minutes)), *(f"{value:.0f}" for value in figures)])
    return [Table("Time of the bench", BENCH, BENCH_HEADER, rows)] if rows else []
