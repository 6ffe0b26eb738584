"""Dev figures by epoch of every trained cell, and whether its training ended too early."""

from collections.abc import Sequence
from typing import Any

from askonce.bench.store import Store, StoredCell

RISE = 0.005  # over the last epochs; smaller differences on dev are noise
LAST = 3  # epochs over which a rise is measured


def histories(store: Store) -> list[dict[str, Any]]:
    """One entry per trained cell: the metric it watched, its limit of epochs, dev by epoch."""
    return [
        {
            "dataset": cell.dataset,
            "model": cell.model,
            "seed": cell.seed,
            "metric": watched(cell),
            "limit": limit(cell),
            "dev": [round(value, 4) for value in dev(cell)],
        }
        for dataset in store.datasets()
        for cell in store.cells(dataset)
        if cell.kind == "trained" and cell.curve()
    ]


def joined(
    entries: Sequence[dict[str, Any]], earlier: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """These entries and the earlier ones of cells that are not among them, in order of cells."""
    every = (*earlier, *entries)
    by_cell = {(entry["dataset"], entry["model"], entry["seed"]): entry for entry in every}
    return [by_cell[cell] for cell in sorted(by_cell)]


def ended_early(cell: StoredCell) -> bool:
    """Whether a stored cell reached its limit of epochs while dev still rose."""
    return still_rising(dev(cell), limit(cell)) and not cell.settings.get("quick", False)


def still_rising(values: Sequence[float], limit: int) -> bool:
    """Whether a run of ``limit`` epochs is best at its end and rose in its last epochs.

    ``values`` are those on dev from epoch 0 on, which is before training.
    """
    if len(values) <= max(limit, LAST):
        return False  # patience ended it, or there is nothing to compare with
    end = max(values[-2:])
    return end == max(values) and end - values[-1 - LAST] > RISE


def dev(cell: StoredCell) -> list[float]:
    return [float(record["dev"][watched(cell)]) for record in cell.curve()]


def watched(cell: StoredCell) -> str:
    return str(cell.recipe.get("train", {}).get("watch", "MAP"))


def limit(cell: StoredCell) -> int:
    return int(cell.recipe.get("train", {}).get("epochs", 0))
