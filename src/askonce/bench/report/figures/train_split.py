"""What a larger, noisier training set is worth, as table 6 of the CTRN paper."""

from askonce.bench.report.blocks import Block, Grid
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.results import Line, ResultTable, tables
from askonce.bench.report.variants import Variant, differs, variants, with_spread
from askonce.bench.store import Store

METRICS = ("MAP", "MRR")
ABOUT = (
    "The same recipe trained on each split, mean ± standard deviation over seeds; after table 6 of "
    "the CTRN paper, whose numbers are in brackets. * differs from the row's first column beyond "
    "chance (paired randomisation over questions, p < 0.05)."
)


@FIGURES.add("train-split")
def train_split(store: Store) -> list[Block]:
    """A table for each dataset and split with rows that differ in ``train.split`` alone."""
    return [block for table in tables(store) if (block := _grid(table)) is not None]


def _grid(table: ResultTable) -> Block | None:
    groups: dict[str, dict[str, Variant]] = {}
    for variant in variants(table):
        by_split = groups.setdefault(variant.without("train.split"), {})
        by_split.setdefault(variant.train_split, variant)
    groups = {name: found for name, found in groups.items() if len(found) > 1}
    if not groups:
        return None
    splits, sizes = _splits(groups)
    header = ["model", *(f"{split} {metric}" for split in splits for metric in METRICS)]
    rows = [
        [name, *(_cell(found, split, splits[0], m) for split in splits for m in METRICS)]
        for name, found in sorted(groups.items())
    ]
    title = f"Training sets: {table.dataset} {table.split}"
    return Grid(title, ABOUT, header, rows, [f"{sizes}."])


def _splits(groups: dict[str, dict[str, Variant]]) -> tuple[list[str], str]:
    """The splits, smallest first, and in words how large they are."""
    found = {split: v.splits for group in groups.values() for split, v in group.items()}
    sizes = {split: counts.get(split, [0, 0]) for split, counts in found.items()}
    order = sorted(sizes, key=lambda split: sizes[split][1])
    return order, "; ".join(
        f"{split}: {sizes[split][0]:,} questions, {sizes[split][1]:,} pairs" for split in order
    )


def _cell(found: dict[str, Variant], split: str, first: str, metric: str) -> str:
    if split not in found:
        return "–"
    line = found[split].line
    changed = split != first and first in found and differs(found[first].line, line, metric)
    return f"{with_spread(line, metric)}{' *' if changed else ''}{_paper(line, metric)}"


def _paper(line: Line, metric: str) -> str:
    found = line.paper(metric)
    return "" if found is None or found.elsewhere else f" ({found.value:.3f})"
