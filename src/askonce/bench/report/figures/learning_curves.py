"""Dev figures by epoch of every trained row."""

from askonce.bench.report.blocks import Block, Plot
from askonce.bench.report.charts import Axis, Panel, PanelChart
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import Result, ResultTable, last_tables

ABOUT = (
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
    return Plot(f"Learning curves: {table.dataset}", ABOUT, chart)


def _panel(result: Result, metric: str) -> Panel | None:
    curves, selected = [], []
    for cell in result.cells:
        points = [(float(r["epoch"]), float(r["dev"][metric])) for r in cell.curve()]
        if points:
            curves.append(points)
            selected += [point for point in points if point[0] == cell.facts.get("best_epoch")]
    return Panel(result.model, curves, selected) if curves else None
