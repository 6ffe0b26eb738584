"""The average rank of each model over datasets, as table 4 of the CABIN paper, computed."""

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

import numpy as np

from askonce.bench.report.blocks import Block, Grid
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.ranks import mean_ranks
from askonce.bench.report.results import ResultTable, tables
from askonce.bench.store import Store


@FIGURES.add("average-rank")
def average_rank(store: Store) -> list[Block]:
    """A table over the datasets that share most rows."""
    chosen = most_shared(last_of_each(tables(store)))
    if not chosen:
        return []
    models = shared(chosen)
    ranks = {table.dataset: dataset_ranks(table, models) for table in chosen}
    means = {model: fmean(found[model] for found in ranks.values()) for model in models}
    rows = [
        [model, *(f"{found[model]:.1f}" for found in ranks.values()), f"{means[model]:.2f}"]
        for model in sorted(models, key=lambda model: means[model])
    ]
    about = (
        f"Mean of the rank by MAP and the rank by MRR on each test set, among the {len(models)} "
        f"rows that were run on all {len(chosen)} of these datasets; 1 is best."
    )
    return [Grid("Average rank", about, ["model", *ranks, "average"], rows)]


def last_of_each(found: Sequence[ResultTable]) -> list[ResultTable]:
    """One table per dataset; of TrecQA that of the clean questions."""
    return list({table.dataset: table for table in found}.values())


def most_shared(found: Sequence[ResultTable]) -> list[ResultTable]:
    """The two datasets or more for which datasets times common rows is greatest."""
    groups = [
        list(group) for size in range(2, len(found) + 1) for group in combinations(found, size)
    ]
    best = max(groups, key=lambda group: len(group) * len(shared(group)), default=[])
    return best if len(shared(best)) > 1 else []


def shared(found: Sequence[ResultTable]) -> list[str]:
    """The rows that all tables have."""
    names = [[line.model for line in table.lines] for table in found]
    return [name for name in names[0] if all(name in row for row in names)] if names else []


def dataset_ranks(table: ResultTable, models: Sequence[str]) -> dict[str, float]:
    """The mean of both ranks; equal values share theirs."""
    lines = {line.model: line for line in table.lines}
    by = [
        mean_ranks(np.array([lines[m].mean(metric) for m in models])) for metric in ("MAP", "MRR")
    ]
    return {model: float(a + b) / 2 for model, a, b in zip(models, *by, strict=True)}
