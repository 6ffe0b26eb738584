"""How long the bench itself took, for whoever wants to run it again."""

from askonce.bench.blocks import Block, Grid
from askonce.bench.figures import FIGURES
from askonce.bench.store import Store, StoredCell

HEADER = ("dataset", "trained and scored", "longest", "all, on one core", "on two")
ABOUT = (
    "Minutes of all cells of a dataset, one for each row and seed; fusions take a second. A cell "
    "that was stopped counts the epochs before too."
)


@FIGURES.add("bench-time")
def bench_time(store: Store) -> list[Block]:
    """A row for each dataset."""
    rows = []
    for name in store.datasets():
        minutes = [_minutes(cell) for cell in store.cells(name) if cell.kind != "fusion"]
        if minutes:
            total = sum(minutes)
            rows.append(
                [name, str(len(minutes)), f"{max(minutes):.0f}", f"{total:.0f}", f"{total / 2:.0f}"]
            )
    return [Grid("Time of the bench", ABOUT, HEADER, rows)] if rows else []


def _minutes(cell: StoredCell) -> float:
    """Minutes on one thread."""
    facts = cell.facts
    trained = (facts.get("train_seconds") or 0.0) + (facts.get("pretrain_seconds") or 0.0)
    return max(facts.get("seconds") or 0.0, trained) * (facts.get("threads") or 1) / 60
