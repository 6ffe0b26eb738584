"""How long the bench itself took."""

from askonce.bench.report.blocks import Block, Table
from askonce.bench.report.figures import FIGURES
from askonce.bench.store import Store

HEADER = ("dataset", "cells", "longest", "all, on one core", "on two")
ABOUT = (
    "Minutes of processor time of all cells of a dataset, one for each row and seed; wall time for "
    "cells that were resumed."
)


@FIGURES.add("bench-time")
def bench_time(store: Store) -> list[Block]:
    rows = []
    for name in store.datasets():
        minutes = [cell.seconds / 60 for cell in store.cells(name)]
        figures = (max(minutes), sum(minutes), sum(minutes) / 2)
        rows.append([name, str(len(minutes)), *(f"{value:.0f}" for value in figures)])
    return [Table("Time of the bench", ABOUT, HEADER, rows)] if rows else []
