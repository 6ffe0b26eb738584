"""Quality against speed: which model to pick."""

from askonce.bench.report.blocks import Block, Plot
from askonce.bench.report.charts import Dot, ScatterChart
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import ResultTable, tables


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
