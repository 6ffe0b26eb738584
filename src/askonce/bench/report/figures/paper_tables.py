"""The papers' tables with our rows beside, all published numbers, and SemEval's own protocol."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from askonce.bench.report.blocks import Block, Table, number_text
from askonce.bench.report.figures import FIGURES, add_figure
from askonce.bench.report.published import PublishedTable, plain_name, published_tables
from askonce.bench.report.results import Result, ResultTable, tables
from askonce.bench.store import Store
from askonce.evaluation import order_agreement

LEAST = 4  # rows of a paper that make an order
FAR = 0.05  # below its paper by more, a row is worth an explanation
HEADER = ("model", "paper", "ours [95 %]", "seeds", "conditions that differ")
ABOUT = (
    "Numbers as the papers print them, and ours with the 95 % interval over questions. A number "
    f"whose conditions differ from ours compares nothing. ▼ more than {FAR} below the paper. "
    "Cited only: features of another lab's pipeline, and models read in another way than ours."
)
ORDER_HEADER = ("paper", "rows", "τ [95 %]", "p")
ORDER = (
    "Kendall's τ between the order of our rows and that of a paper: 1 is the same order, 0 no "
    "relation, -1 the reverse. The interval (bootstrap over questions) says how much other "
    "questions could change our order. The papers' numbers are taken as printed, whatever their "
    "conditions; the random row is left out."
)


class PaperNumber(NamedTuple):
    name: str
    value: float
    metric: str
    part: PublishedTable


Results = Mapping[str, Sequence[Result]]  # by name without changes that are conditions


@add_figure("paper-tables", tables)
def paper_tables(table: ResultTable) -> list[Block]:
    results: dict[str, list[Result]] = {}
    for result in table.results:
        results.setdefault(plain_name(result.model), []).append(result)
    rows: list[list[str]] = []
    orders: list[list[str]] = []
    for heading, numbers in _by_paper(table).items():
        if any(number.name in results for number in numbers):
            rows.append([heading])
            rows += [_row(n, results) for n in sorted(numbers, key=lambda n: n.value)]
            orders += _order(heading, numbers, results)
    where = f"{table.dataset} {table.split}"
    blocks: list[Block] = [Table(f"Papers' tables: {where}", ABOUT, HEADER, rows)] if rows else []
    blocks += [Table(f"Papers' order: {where}", ORDER, ORDER_HEADER, orders)] if orders else []
    return blocks


def _by_paper(table: ResultTable) -> dict[str, list[PaperNumber]]:
    """What the papers print on these questions, by paper, table, training set and metric."""
    numbers: dict[str, list[PaperNumber]] = {}
    for part in published_tables():
        if part.dataset == table.dataset and part.protocol in (None, table.results[0].protocol):
            metric = table.metric if table.metric in part.metrics else part.metrics[-1]
            trained = f", trained on {part.train}" if part.train else ""
            heading, column = f"{part.source}{trained}: {metric}", part.metrics.index(metric)
            numbers.setdefault(heading, []).extend(
                PaperNumber(name, values[column], metric, part)
                for name, values in (*part.rows.items(), *part.cited.items())
            )
    return numbers


def _ours(number: PaperNumber, results: Results) -> Result | None:
    """Of several rows of a model the one whose conditions are most like the paper's."""
    named = results.get(number.name, ())
    return min(named, key=lambda result: len(number.part.unlike(result.conditions)), default=None)


def _row(number: PaperNumber, results: Results) -> list[str]:
    result = _ours(number, results)
    if result is None:
        missing = "cited only" if number.name in number.part.cited else "not run"
        return [number.name, f"{number.value:.3f}", missing, "–", "–"]
    estimate = result.estimates[number.metric]
    mark = " ▼" if number.value - estimate.mean > FAR else ""
    unlike = ", ".join(number.part.unlike(result.conditions)) or "–"
    return [result.model, f"{number.value:.3f}", f"{estimate}{mark}", str(result.seeds), unlike]


def _order(heading: str, numbers: Sequence[PaperNumber], results: Results) -> list[list[str]]:
    """How far our rows stand in the order of this paper."""
    published, values = {}, {}
    for number in numbers:
        result = _ours(number, results)
        if result is not None and number.name != "random":
            published[number.name] = number.value
            values[number.name] = result.by_query(number.metric)
    if len(published) < LEAST:
        return []
    agreement = order_agreement(published, values)
    low, high = agreement.interval.low, agreement.interval.high
    tau = f"{agreement.tau:.2f} [{low:.2f}–{high:.2f}]"
    return [[heading, str(len(published)), tau, f"{agreement.p:.3f}"]]


PUBLISHED_HEADER = (
    "model",
    "source",
    "dataset",
    "test pairs",
    "protocol",
    "trained on",
    "features",
    "values",
)
ABOUT_PUBLISHED = (
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
    return [Table("Published numbers", ABOUT_PUBLISHED, PUBLISHED_HEADER, rows)] if rows else []


def _conditions(table: PublishedTable) -> list[str]:
    weights = f", from {table.weights}" if table.weights else ""
    features = "–" if table.features is None else " ".join(sorted(table.features)) or "none"
    trained = f"{table.train or '–'}{weights}"
    pairs = number_text(table.test_pairs)
    return [table.source, table.dataset, pairs, table.protocol or "–", trained, features]


def _values(table: PublishedTable, values: tuple[float, ...]) -> str:
    named = zip(table.metrics, values, strict=True)
    return ", ".join(f"{metric} {value:.3f}" for metric, value in named)


OFFICIAL_METRICS = ("MAP", "MRR")
ABOUT_OFFICIAL = (
    "Means over the questions with a right candidate, as in the other tables, and over all "
    "questions, of which the others count as zero: so does the task's official scorer."
)


@add_figure("official-protocol", tables)
def official_protocol(table: ResultTable) -> Block | None:
    splits = table.results[0].first.settings.get("data", {})  # the size of the data
    if not table.dataset.startswith("semeval") or table.split not in splits:
        return None
    every = int(splits[table.split][0])
    counted = table.results[0].queries
    header = ["model", *(f"{m}, {n} questions" for m in OFFICIAL_METRICS for n in (counted, every))]
    shares = (1.0, counted / every)
    rows = [
        [
            one.model,
            *(f"{one.mean(metric) * part:.3f}" for metric in OFFICIAL_METRICS for part in shares),
        ]
        for one in table.results
    ]
    return Table(f"Official protocol: {table.dataset} {table.split}", ABOUT_OFFICIAL, header, rows)
