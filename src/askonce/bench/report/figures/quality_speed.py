"""Quality against speed: which model to pick."""

from askonce.bench.report.blocks import Block, Picture
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.results import Line, ResultTable, tables
from askonce.bench.report.scatter import Dot, scatter
from askonce.bench.store import Store


@FIGURES.add("quality-speed")
def quality_speed(store: Store) -> list[Block]:
    """A plot for each dataset and split."""
    return [block for table in tables(store) if (block := _plot(table)) is not None]


def _plot(table: ResultTable) -> Block | None:
    dots = [_dot(line, table.metric) for line in table.lines if line.model != "random"]
    shown = [dot for dot in dots if dot is not None]
    if len(shown) < 2:
        return None
    about = (
        f"{table.metric} on test against the pairs of question and candidate that are scored in a "
        "second, reading of texts included. Up and to the right is better."
    )
    title = f"Quality and speed: {table.dataset} {table.split}"
    return Picture(title, about, scatter(shown, "pairs a second", table.metric))


def _dot(line: Line, metric: str) -> Dot | None:
    speed = line.fact("pairs_per_second")
    return None if speed is None else Dot(line.model, speed, line.mean(metric), line.kind)
