"""The average rank of each model over datasets, computed as in table 4 of the CABIN paper."""

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

from scipy.stats import rankdata

from askonce.bench.report.blocks import Block, Table
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.results import ResultTable, last_tables
from askonce.bench.store import Store


@FIGURES.add("average-rank")
def average_rank(store: Store) -> list[Block]:
    chosen = _sharing_most(last_tables(store))
    if not chosen:
        return []
    models = _shared_models(chosen)
    ranks = {table.dataset: _ranks(table, models) for table in chosen}
    means = {model: fmean(by_model[model] for by_model in ranks.values()) for model in models}
    rows = [
        [model, *(f"{by_model[model]:.1f}" for by_model in ranks.values()), f"{means[model]:.2f}"]
        for model in sorted(models, key=lambda model: means[model])
    ]
    about = (
        f"Mean of the rank by MAP and the rank by MRR on each test set, among the {len(models)} "
        f"rows that were run on all {len(chosen)} of these datasets; 1 is best."
    )
    return [Table("Average rank", about, ["model", *ranks, "average"], rows)]


def _sharing_most(tables: Sequence[ResultTable]) -> list[ResultTable]:
    """Two or more datasets for which datasets times common rows is greatest."""
    groups = [
        list(group) for size in range(2, len(tables) + 1) for group in combinations(tables, size)
    ]
    best = max(groups, key=lambda group: len(group) * len(_shared_models(group)), default=[])
    return best if len(_shared_models(best)) > 1 else []


def _shared_models(tables: Sequence[ResultTable]) -> list[str]:
    names = [[result.model for result in table.results] for table in tables]
    return [name for name in names[0] if all(name in row for row in names)] if names else []


def _ranks(table: ResultTable, models: Sequence[str]) -> dict[str, float]:
    """The mean of both ranks; equal values share theirs."""
    by_model = {result.model: result for result in table.results}
    by_map, by_mrr = (
        rankdata([-by_model[model].mean(metric) for model in models]) for metric in ("MAP", "MRR")
    )
    return dict(zip(models, ((by_map + by_mrr) / 2).tolist(), strict=True))
