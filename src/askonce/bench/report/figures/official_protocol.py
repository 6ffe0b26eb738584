"""SemEval as its official scorer counts: questions without a right candidate count as zero."""

from askonce.bench.report.blocks import Block, Table
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import ResultTable, tables

METRICS = ("MAP", "MRR")
ABOUT = (
    "Means over the questions with a right candidate, as in the other tables, and over all "
    "questions, of which the others count as zero: so does the task's official scorer."
)


@add_figure("official-protocol", tables)
def official_protocol(table: ResultTable) -> Block | None:
    every = _questions(table)
    if not table.dataset.startswith("semeval") or every is None:
        return None
    counted = table.results[0].queries
    header = ["model", *(f"{m}, {n} questions" for m in METRICS for n in (counted, every))]
    shares = (1.0, counted / every)
    rows = [
        [one.model, *(f"{one.mean(metric) * part:.3f}" for metric in METRICS for part in shares)]
        for one in table.results
    ]
    return Table(f"Official protocol: {table.dataset} {table.split}", ABOUT, header, rows)


def _questions(table: ResultTable) -> int | None:
    """All questions of the split, from the stored size of the data."""
    splits = table.results[0].first.settings.get("data", {})
    return int(splits[table.split][0]) if table.split in splits else None
