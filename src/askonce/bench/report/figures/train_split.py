"""What a larger, noisier training set is worth, as table 6 of the CTRN paper."""

from askonce.bench.report.blocks import Block, Table
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import ResultTable, tables
from askonce.bench.report.variants import Variant, differs, variants, with_deviation

METRICS = ("MAP", "MRR")
ABOUT = (
    "The same recipe trained on each split, mean ± standard deviation over seeds; after table 6 of "
    "the CTRN paper, whose numbers are in brackets. * differs significantly from the row's first "
    "column (paired randomisation over questions, p < 0.05)."
)


@add_figure("train-split", tables)
def train_split(table: ResultTable) -> Block | None:
    groups: dict[str, dict[str, Variant]] = {}
    for variant in variants(table):
        by_split = groups.setdefault(variant.without("train.split"), {})
        by_split.setdefault(variant.train_split, variant)
    groups = {name: by_split for name, by_split in groups.items() if len(by_split) > 1}
    if not groups:
        return None
    splits, sizes = _splits(groups)
    header = ["model", *(f"{split} {metric}" for split in splits for metric in METRICS)]
    rows = [
        [name, *(_cell(by_split, split, splits[0], m) for split in splits for m in METRICS)]
        for name, by_split in sorted(groups.items())
    ]
    title = f"Training sets: {table.dataset} {table.split}"
    return Table(title, ABOUT, header, rows, [f"{sizes}."])


def _splits(groups: dict[str, dict[str, Variant]]) -> tuple[list[str], str]:
    """The splits, smallest first, and a sentence about their sizes."""
    counts = {split: v.splits for group in groups.values() for split, v in group.items()}
    sizes = {split: every.get(split, [0, 0]) for split, every in counts.items()}
    order = sorted(sizes, key=lambda split: sizes[split][1])
    return order, "; ".join(
        f"{split}: {sizes[split][0]:,} questions, {sizes[split][1]:,} pairs" for split in order
    )


def _cell(by_split: dict[str, Variant], split: str, first: str, metric: str) -> str:
    if split not in by_split:
        return "–"
    result, paper = by_split[split].result, by_split[split].result.paper(metric)
    changed = split != first and first in by_split
    changed = changed and differs(by_split[first].result, result, metric)
    published = "" if paper is None or paper.elsewhere else f" ({paper.value:.3f})"
    return f"{with_deviation(result, metric)}{' *' if changed else ''}{published}"
