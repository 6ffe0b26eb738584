"""Quality against the size of vectors, as figure 3 of the HyperQA paper."""

from askonce.bench.report.axes import Axis
from askonce.bench.report.blocks import Block, Picture
from askonce.bench.report.charts import Series, line_chart
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.results import BASES, Line, ResultTable, tables
from askonce.bench.report.variants import deviation, variants
from askonce.bench.store import Store

LEAST = 3  # sizes, to call it a curve
# the other models' MAP that the paper draws in its figure
PAPER = {"wikiqa": {"MP-CNN (paper)": 0.693, "CNN+Cnt (paper)": 0.652, "PV+Cnt (paper)": 0.599}}
ABOUT = (
    "Mean over seeds on test against the dimension of the vectors (model.dim), bars of one "
    "standard deviation; after figure 3 of the HyperQA paper, which compares HyperQA with "
    "CosineQA at 50 to 300. Dashed: rows without such a size."
)


@FIGURES.add("dimensions")
def dimensions(store: Store) -> list[Block]:
    """A chart for each split on which a model was run in three sizes or more."""
    return [block for table in tables(store) if (block := _chart(table)) is not None]


def _chart(table: ResultTable) -> Block | None:
    sizes: dict[str, dict[int, Line]] = {}
    for variant in variants(table):
        if variant.only_changes("model.dim") and "dim" in variant.options:
            found = sizes.setdefault(variant.recipe, {})
            found.setdefault(int(variant.options["dim"]), variant.line)
    series = [
        _series(name, found, table.metric) for name, found in sizes.items() if len(found) >= LEAST
    ]
    if not series:
        return None
    rows = {line.model: line.mean(table.metric) for line in table.lines if line.model in BASES}
    drawn = line_chart(
        series,
        Axis("dimension", least=1),
        Axis(table.metric),
        {**rows, **PAPER.get(table.dataset, {})},
    )
    return Picture(f"Quality and dimension: {table.dataset} {table.split}", ABOUT, drawn)


def _series(name: str, found: dict[int, Line], metric: str) -> Series:
    lines = sorted(found.items())
    points = [(float(size), line.mean(metric)) for size, line in lines]
    return Series(name, points, [deviation(line, metric) or 0.0 for _, line in lines])
