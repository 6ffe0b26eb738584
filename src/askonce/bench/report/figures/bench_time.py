"""How long the bench itself took, for whoever wants to run it again."""

from askonce.bench.report.blocks import Block, Grid
from askonce.bench.report.figures import FIGURES
from askonce.bench.store import Store

HEADER = ("dataset", "cells", "longest", "all, on one core", "on two")
ABOUT = (
    "Minutes of processor time of the cells of a dataset, one for each row and seed; of cells that "
    "went on after a stop, minutes by the clock."
)


@FIGURES.add("bench-time")
def bench_time(store: Store) -> list[Block]:
    """A row for each dataset."""
    rows = []
    for name in store.datasets():
        minutes = [cell.seconds / 60 for cell in store.cells(name)]
        figures = (max(minutes), sum(minutes), sum(minutes) / 2)
        rows.append([name, str(len(minutes)), *(f"{value:.0f}" for value in figures)])
    return [Grid("Time of the bench", ABOUT, HEADER, rows)] if rows else []
