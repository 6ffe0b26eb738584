"""Dev figures by epoch of every trained row."""

from askonce.bench.report.axes import Axis
from askonce.bench.report.blocks import Block, Picture
from askonce.bench.report.charts import Panel, panels
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.figures.average_rank import last_of_each
from askonce.bench.report.results import Line, ResultTable, tables
from askonce.bench.store import Store

ABOUT = (
    "Dev figure after each epoch, a line for each seed; the dot is the epoch that was kept. A "
    "curve that still rises at its end, or falls from its start, asks for another recipe."
)


@FIGURES.add("learning-curves")
def learning_curves(store: Store) -> list[Block]:
    """A small chart for each trained row of each dataset."""
    return [block for table in last_of_each(tables(store)) if (block := _picture(table))]


def _picture(table: ResultTable) -> Block | None:
    found = [_panel(line, table.metric) for line in table.lines if line.kind == "trained"]
    shown = [panel for panel in found if panel is not None]
    if not shown:
        return None
    drawn = panels(shown, Axis("epoch", least=1), Axis(f"dev {table.metric}"))
    return Picture(f"Learning curves: {table.dataset}", ABOUT, drawn)


def _panel(line: Line, metric: str) -> Panel | None:
    curves, kept = [], []
    for cell in line.cells:
        points = [(float(r["epoch"]), float(r["dev"][metric])) for r in cell.curve()]
        if points:
            curves.append(points)
            kept += [point for point in points if point[0] == cell.facts.get("best_epoch")]
    return Panel(line.model, curves, kept) if curves else None
