"""Quality by the dimension of vectors, as figure 3 of the HyperQA paper."""

from askonce.bench.report.blocks import Block, Plot
from askonce.bench.report.charts import Axis, LineChart, Series
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import BASES, Result, ResultTable, tables
from askonce.bench.report.variants import deviation, variants

MIN_SIZES = 3  # of a curve
# MAP of other models in the paper's figure
PAPER = {"wikiqa": {"MP-CNN (paper)": 0.693, "CNN+Cnt (paper)": 0.652, "PV+Cnt (paper)": 0.599}}
ABOUT = (
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
        _series(name, sizes, table.metric)
        for name, sizes in by_recipe.items()
        if len(sizes) >= MIN_SIZES
    ]
    if not series:
        return None
    bases = {r.model: r.mean(table.metric) for r in table.results if r.model in BASES}
    references = {**bases, **PAPER.get(table.dataset, {})}
    chart = LineChart(series, Axis("dimension", integer=True), Axis(table.metric), references)
    return Plot(f"Quality and dimension: {table.dataset} {table.split}", ABOUT, chart)


def _series(name: str, sizes: dict[int, Result], metric: str) -> Series:
    ordered = sorted(sizes.items())
    points = [(float(size), result.mean(metric)) for size, result in ordered]
    return Series(name, points, [deviation(result, metric) or 0.0 for _, result in ordered])
