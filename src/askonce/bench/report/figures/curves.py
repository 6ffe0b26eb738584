"""Training and pre-training by epoch (figure 3 of Lei et al. 2016); quality by dimension."""

from collections.abc import Callable
from statistics import fmean, stdev
from typing import Any

from askonce.bench.report.blocks import Block, Plot
from askonce.bench.report.charts import Axis, LineChart, Panel, PanelChart, Point, Series
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import BASES, Result, ResultTable, last_tables, tables
from askonce.bench.report.variants import deviation, prefer_plain, variants
from askonce.bench.store import Records

ABOUT_LEARNING = (
    "Dev figure after each epoch, a line per seed; the dot is the selected epoch. A curve that "
    "still rises at its end, or falls from its start, calls for another recipe."
)


@add_figure("learning-curves", last_tables)
def learning_curves(table: ResultTable) -> Block | None:
    trained = [result for result in table.results if result.kind == "trained"]
    panels = [panel for result in trained if (panel := _panel(result, table.metric)) is not None]
    if not panels:
        return None
    chart = PanelChart(panels, Axis("epoch", integer=True), Axis(f"dev {table.metric}"))
    return Plot(f"Learning curves: {table.dataset}", ABOUT_LEARNING, chart)


def _panel(result: Result, metric: str) -> Panel | None:
    curves, selected = [], []
    for cell in result.cells:
        points = [(float(r["epoch"]), float(r["dev"][metric])) for r in cell.curve()]
        if points:
            curves.append(points)
            selected += [point for point in points if point[0] == cell.facts.get("best_epoch")]
    return Panel(result.model, curves, selected) if curves else None


EPOCHS = Axis("epoch of pre-training", integer=True)
ABOUT_PRETRAINING = (
    "Mean over seeds, with error bars of one standard deviation; after figure 3 of Lei et al. "
    "(NAACL 2016), where RCNN, LSTM and GRU reach similar perplexities, but RCNN ranks best."
)
PERPLEXITY = (
    "Perplexity of held-out titles given their bodies; the dashed line is a model that knows only "
    "how frequent words are. "
)
RANKING = (
    "MRR on dev by the last states of titles, before pre-training (epoch 0) and after each of its "
    "epochs. "
)
Value = Callable[[dict[str, Any]], float]


@add_figure("pretraining-curves", last_tables)
def pretraining_curves(table: ResultTable) -> list[Block]:
    shown = prefer_plain(v for v in variants(table) if _histories(v.result))
    return _plots(table.dataset, [variant.result for variant in shown]) if shown else []


def curve(histories: list[Records], value: Value) -> tuple[list[Point], list[float]]:
    """The mean over seeds at each epoch that all of them reached, and the standard deviations."""
    epochs = range(min(len(history) for history in histories))
    values = [[value(history[n]) for history in histories] for n in epochs]
    points = [(float(histories[0][n]["epoch"]), fmean(values[n])) for n in epochs]
    return points, [stdev(row) if len(row) > 1 else 0.0 for row in values]


def _histories(result: Result) -> list[Records]:
    """One history per seed; CABIN's language models lack these figures."""
    histories = [cell.pretraining() for cell in result.cells]
    return [history for history in histories if len(history) > 1 and "perplexity" in history[0]]


def _plots(dataset: str, results: list[Result]) -> list[Block]:
    histories = {result.model: _histories(result) for result in results}
    unigram = fmean(h[0]["unigram_perplexity"] for every in histories.values() for h in every)
    # epoch 0, in which all words are equally likely, would flatten the curves
    started = {name: [history[1:] for history in every] for name, every in histories.items()}
    perplexity = LineChart(
        _series(started, lambda record: float(record["perplexity"])),
        EPOCHS,
        Axis("held-out perplexity", log=True),
        {"unigram": unigram},
    )
    ranking = LineChart(
        _series(histories, lambda record: float(record["dev"]["MRR"])),
        EPOCHS,
        Axis("dev MRR of titles"),
    )
    return [
        Plot(f"Pre-training, perplexity: {dataset}", PERPLEXITY + ABOUT_PRETRAINING, perplexity),
        Plot(f"Pre-training, dev MRR: {dataset}", RANKING + ABOUT_PRETRAINING, ranking),
    ]


def _series(histories: dict[str, list[Records]], value: Value) -> list[Series]:
    return [Series(name, *curve(every, value)) for name, every in histories.items()]


MIN_SIZES = 3  # of a curve
# MAP of other models in the paper's figure
PAPER = {"wikiqa": {"MP-CNN (paper)": 0.693, "CNN+Cnt (paper)": 0.652, "PV+Cnt (paper)": 0.599}}
ABOUT_DIMENSIONS = (
    "Mean over seeds on test by the dimension of the vectors (model.dim), with error bars of one "
    "standard deviation; after figure 3 of the HyperQA paper, which compares HyperQA with CosineQA "
    "at 50 to 300. Dashed: rows without such a setting."
)


@add_figure("dimensions", tables)
def dimensions(table: ResultTable) -> Block | None:
    by_recipe: dict[str, dict[int, Result]] = {}
    for variant in variants(table):
        if variant.only_changes("model.dim") and "dim" in variant.options:
            sizes = by_recipe.setdefault(variant.recipe, {})
            sizes.setdefault(int(variant.options["dim"]), variant.result)
    series = [
        _by_dimension(name, sizes, table.metric)
        for name, sizes in by_recipe.items()
        if len(sizes) >= MIN_SIZES
    ]
    if not series:
        return None
    bases = {r.model: r.mean(table.metric) for r in table.results if r.model in BASES}
    references = {**bases, **PAPER.get(table.dataset, {})}
    chart = LineChart(series, Axis("dimension", integer=True), Axis(table.metric), references)
    return Plot(f"Quality and dimension: {table.dataset} {table.split}", ABOUT_DIMENSIONS, chart)


def _by_dimension(name: str, sizes: dict[int, Result], metric: str) -> Series:
    ordered = sorted(sizes.items())
    points = [(float(size), result.mean(metric)) for size, result in ordered]
    return Series(name, points, [deviation(result, metric) or 0.0 for _, result in ordered])
