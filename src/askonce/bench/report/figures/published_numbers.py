"""Every published number that stands beside rows of the store, with its conditions."""

from askonce.bench.report.blocks import Block, Table
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.published import PublishedTable, published_tables
from askonce.bench.store import Store

HEADER = (
    "model",
    "source",
    "dataset",
    "test pairs",
    "protocol",
    "trained on",
    "features",
    "values",
)
ABOUT = (
    "As the papers print them; a dash is a condition that the paper does not state or that does "
    "not matter to the row. Beside a row of ours a number stands in brackets if any condition "
    "differs. A system that is not named as a row of ours is cited only, and was not run."
)


@FIGURES.add("published-numbers")
def published_numbers(store: Store) -> list[Block]:
    datasets = set(store.datasets())
    rows = [
        [model, *_conditions(table), _values(table, values)]
        for table in published_tables()
        if datasets & {table.dataset, *table.beside}
        for model, values in (*table.rows.items(), *table.cited.items())
    ]
    return [Table("Published numbers", ABOUT, HEADER, rows)] if rows else []


def _conditions(table: PublishedTable) -> list[str]:
    pairs = "–" if table.test_pairs is None else f"{table.test_pairs:,}"
    weights = f", from {table.weights}" if table.weights else ""
    features = "–" if table.features is None else " ".join(table.features) or "none"
    trained = f"{table.train or '–'}{weights}"
    return [table.source, table.dataset, pairs, table.protocol or "–", trained, features]


def _values(table: PublishedTable, values: tuple[float, ...]) -> str:
    named = zip(table.metrics, values, strict=True)
    return ", ".join(f"{metric} {value:.3f}" for metric, value in named)
