"""Parameters, speed and time, and every row relative to one reference."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from askonce.bench.report.blocks import Block, Plot, Table, number_text
from askonce.bench.report.charts import Bar, BarChart, Dot, ScatterChart
from askonce.bench.report.figures import FIGURES, add_figure
from askonce.bench.report.results import Result, ResultTable, last_tables, tables
from askonce.bench.store import Store

ABOUT_PARAMETERS = (
    "Trained parameters without word vectors, for the recipe of each dataset; all parameters for "
    "transformers. Variants of the same size as their recipe are left out. In the paper's size: "
    "the parameters of our model in the sizes that a paper gives, beside the number it prints."
)
SIZED = ("trained", "transformer")  # kinds of rows that have parameters


@dataclass(frozen=True)
class Printed:
    """A number as a paper prints it, and the sizes it is for."""

    number: str
    source: str
    word_dim: int
    options: Mapping[str, Any] = field(default_factory=dict)


_CTRN, _RCNN = "CTRN, table 2", "Lei et al., table 3"
_HYPERQA = "HyperQA, tables 2 and 5"
PRINTED: Mapping[str, Sequence[Printed]] = {
    "ctrn": [Printed("1.05M", _CTRN, 300, {"bias": False})],
    "qrnn": [Printed("1.05M", _CTRN, 300, {"bias": False})],
    "lstm-mlp": [Printed("1.79M", _CTRN, 300, {"bias": False})],
    "ap-bilstm": [
        Printed("5.86M", _CTRN, 300, {"hidden": 512}),
        Printed("1.80M", "HyperQA, table 3", 300, {"hidden": 300}),
    ],
    "rcnn": [Printed("401K", _RCNN, 200)],
    "lstm": [Printed("423K", _RCNN, 200)],
    "gru": [Printed("404K", _RCNN, 200)],
    "cnn": [Printed("401K", _RCNN, 200)],
    "hyperqa": [
        Printed("90K", "HyperQA, tables 2, 3 and 5", 300, {"dim": 300}),
        Printed("45K", "HyperQA, table 4", 300, {"dim": 150}),
    ],
    "qa-bilstm": [Printed("1.40M", "HyperQA, table 3", 300)],
    "ap-cnn": [Printed("540K", "HyperQA, table 3", 300, {"filters": 300, "width": 5})],
    "qa-cnn": [Printed("90.9K", "HyperQA, table 3", 300, {"filters": 100})],
    "mp-cnn": [Printed("10.0M", _HYPERQA, 300)],
    "rank-mp-cnn": [Printed("10.0M", _HYPERQA, 300)],
    "ai-cnn": [Printed("140K", "HyperQA, table 4", 100)],
}
REMARKS = {
    "ctrn": "The CTRN paper leaves out the projection of words (90,000) and the last layer (258).",
    "ap-bilstm": "5.86M counts one direction, and the attention matrix four times.",
    "qa-cnn": "No combination of filters and width gives 90.9K; this is the nearest.",
    "rank-mp-cnn": "HyperQA gives it the size of MP-CNN; its public code has no dense layer.",
    "ai-cnn": "Its sizes are not printed; ours were chosen to come near 140K.",
}


@FIGURES.add("parameters")
def parameters(store: Store) -> list[Block]:
    tables = last_tables(store)
    sizes = [
        {r.model: r.fact("parameters") for r in table.results if r.kind in SIZED if _size(r)}
        for table in tables
    ]
    names = sorted({name for by_model in sizes for name in by_model})
    counts = {name: [number_text(by_model.get(name)) for by_model in sizes] for name in names}
    names = [name for name in names if not _same_as_recipe(name, counts)]
    if not names:
        return []
    rows = [[name, *counts[name], *_papers(name)] for name in names]
    header = ["model", *(table.dataset for table in tables), "in the paper's size", "paper"]
    in_papers = [name for name in names if name in PRINTED]
    sources = dict.fromkeys(printed.source for name in in_papers for printed in PRINTED[name])
    notes = [f"Paper: {'; '.join(sources)}."] if sources else []
    notes += [remark for name, remark in REMARKS.items() if name in in_papers]
    return [Table("Parameters", ABOUT_PARAMETERS, header, rows, notes)]


def counted(model: str, printed: Printed) -> int:
    """The parameters of our model in these sizes."""
    import torch

    from askonce.models import MODELS
    from askonce.models.base import EmbeddingInit

    kind, rows = MODELS[model], 3
    words = EmbeddingInit(
        vectors=torch.zeros(rows, printed.word_dim),
        document_frequency=torch.ones(rows),
        documents=rows,
        stop=torch.zeros(rows, dtype=torch.bool),
    )
    return kind(kind.Config(**printed.options), words).trainable_parameters()


def _same_as_recipe(name: str, counts: Mapping[str, Sequence[str]]) -> bool:
    """Whether a variant has the size of its recipe on every dataset."""
    plain, _, changes = name.partition("@")
    pairs = zip(counts[name], counts.get(plain, ()), strict=False)
    return bool(changes) and plain in counts and all(own in ("–", of) for own, of in pairs)


def _papers(name: str) -> list[str]:
    if name not in PRINTED:
        return ["–", "–"]
    ours = " / ".join(f"{counted(name, printed):,}" for printed in PRINTED[name])
    return [ours, " / ".join(printed.number for printed in PRINTED[name])]


EPOCH = (
    "Median seconds of an epoch after the first, ranking of dev included, over all seeds; after "
    "figure 3 of the CTRN paper (LSTM, AP-BiLSTM, QRNN and CTRN with d = 800: rows such as "
    "ctrn@model.dim=800). Other rows ran at the same time, and recipes differ in size and batch: "
    "compare rows of similar settings, not machines."
)
COST = (
    "{metric} on test against what a row costs: trained parameters without word vectors, and "
    "median seconds of an epoch after the first. Up and to the left is better. Recipes differ in "
    "the pairs of an epoch, and other rows ran at the same time."
)
BENCH_HEADER = ("dataset", "cells", "longest", "all, on one core", "on two")
BENCH = (
    "Minutes of processor time of all cells of a dataset, one for each row and seed; wall time for "
    "cells that were resumed."
)


@add_figure("quality-speed", tables)
def quality_speed(table: ResultTable) -> Block | None:
    shown = [result for result in table.results if result.model != "random"]
    dots = _dots(shown, lambda result: result.fact("pairs_per_second"), table.metric)
    if len(dots) < 2:
        return None
    about = (
        f"{table.metric} on test against the pairs of question and candidate scored per second, "
        "reading of texts included. Up and to the right is better."
    )
    title = f"Quality and speed: {table.dataset} {table.split}"
    return Plot(title, about, ScatterChart({"pairs per second": dots}, table.metric))


@add_figure("quality-cost", last_tables)
def quality_cost(table: ResultTable) -> Block | None:
    costs: dict[str, Callable[[Result], float | None]] = {
        "parameters": lambda result: result.fact("parameters"),
        "seconds per epoch": Result.epoch_seconds,
    }
    trained = [r for r in table.results if r.kind == "trained" and "@" not in r.model]
    dots = {name: _dots(trained, cost, table.metric) for name, cost in costs.items()}
    dots = {name: some for name, some in dots.items() if len(some) > 1}
    title = f"Quality and cost: {table.dataset} {table.split}"
    about = COST.format(metric=table.metric)
    return Plot(title, about, ScatterChart(dots, table.metric)) if dots else None


def _dots(
    results: Sequence[Result], cost: Callable[[Result], float | None], metric: str
) -> list[Dot]:
    return [
        Dot(result.model, value, result.mean(metric), result.kind)
        for result in results
        if (value := cost(result))
    ]


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


REFERENCE = "hyperqa"
ABOUT_RATIOS = (
    "Each recipe relative to {name}: {metric} in per cent more or less; parameters, seconds per "
    "epoch and seconds to score a pair as a multiple, so that 10× costs ten times as much. After "
    "table 7 of the HyperQA paper, computed."
)


@add_figure("ratios", tables)
def ratios(table: ResultTable) -> Block | None:
    shown = [result for result in table.results if result.kind in SIZED and "@" not in result.model]
    trained = [result for result in shown if result.kind == "trained"]
    named = [result for result in trained if result.model == REFERENCE]
    sized = sorted((result for result in trained if result.fact("parameters")), key=_size)
    reference = next(iter(named or sized), None)  # HyperQA if it was run, else the smallest row
    if reference is None or len(shown) < 2 or not reference.mean(table.metric):
        return None
    rows = [
        [result.model, *_cells(result, reference, table.metric)]
        for result in sorted(shown, key=_size)
        if result is not reference
    ]
    return Table(
        f"Relative to {reference.model}: {table.dataset} {table.split}",
        ABOUT_RATIOS.format(name=reference.model, metric=table.metric),
        ["model", table.metric, "parameters", "seconds per epoch", "seconds per pair"],
        rows,
    )


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
