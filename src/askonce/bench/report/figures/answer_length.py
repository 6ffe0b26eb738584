"""Accuracy by the length of right answers, as figure 5 of Tan et al. (ACL 2016)."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np

from askonce.bench.report.axes import Axis
from askonce.bench.report.blocks import Block, Grid, Picture
from askonce.bench.report.charts import Series, line_chart
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.results import BASES, Line, ResultTable, tables
from askonce.bench.setup import ACCURACY
from askonce.bench.store import Store
from askonce.text.tokenise import TOKENISERS
from askonce.types import Dataset

# the paper names the first three bounds, its figure shows eleven buckets
BOUNDS = (50, 55, 60, 65, 70, 80, 90, 100, 120, 160)
BUCKETS, LEAST = 11, 20  # at most so many, of at least so many questions
ABOUT = (
    "P@1 on test by the mean number of words of a question's right answers; "
    "after figure 5 of Tan et al. (ACL 2016), which finds attention and "
    "convolution best on long answers."
)
IN_NUMBERS = "The same; the number of questions is in brackets."


@FIGURES.add("answer-length")
def answer_length(store: Store) -> list[Block]:
    """A chart and a table for each split whose texts are still there."""
    found = tables(store)
    datasets = {name: store.dataset(name) for name in dict.fromkeys(t.dataset for t in found)}
    blocks: list[Block] = []
    for table in found:
        dataset = datasets[table.dataset]
        lines = [line for line in table.lines if _is_shown(line)]
        if dataset is not None and table.split in dataset.splits and lines:
            blocks += _blocks(table, lines, right_lengths(dataset, table.split))
    return blocks


def right_lengths(dataset: Dataset, split: str) -> dict[str, float]:
    """The mean number of words of each question's right answers, of those that have any."""
    words = TOKENISERS[dataset.tokeniser]
    found = {
        pool.query.id: fmean(len(words(post.text)) for post in pool.positives)
        for pool in dataset.splits[split]
        if pool.positives
    }
    return {query: length for query, length in found.items() if length > 0}


def bounds_of(dataset: str, lengths: Sequence[float]) -> list[float]:
    """Upper bounds of all buckets but the last: the paper's, elsewhere of equal shares."""
    if dataset in ACCURACY:
        return [float(bound) for bound in BOUNDS]
    buckets = min(BUCKETS, len(lengths) // LEAST)
    if buckets < 2:
        return []
    shares = np.quantile(lengths, np.arange(1, buckets) / buckets)
    return sorted({float(np.ceil(bound)) for bound in shares})


def bucket_means(
    values: dict[str, float], lengths: dict[str, float], bounds: Sequence[float]
) -> list[float | None]:
    """The mean value of each bucket's questions; none for an empty bucket."""
    found: list[list[float]] = [[] for _ in range(len(bounds) + 1)]
    for query, length in lengths.items():
        found[bisect_left(bounds, length)].append(values[query])
    return [fmean(bucket) if bucket else None for bucket in found]


def _is_shown(line: Line) -> bool:
    return line.model in BASES or (line.kind == "trained" and "@" not in line.model)


def _blocks(table: ResultTable, lines: Sequence[Line], every: dict[str, float]) -> list[Block]:
    scored = lines[0].by_query("P@1")
    lengths = {query: length for query, length in every.items() if query in scored}
    bounds = bounds_of(table.dataset, list(lengths.values()))
    if not bounds:
        return []
    counts = np.bincount(
        [bisect_left(bounds, length) for length in lengths.values()], minlength=len(bounds) + 1
    )
    names = _names(bounds)
    means = {line.model: bucket_means(line.by_query("P@1"), lengths, bounds) for line in lines}
    series = [
        Series(name, [(float(n), value) for n, value in enumerate(row) if value is not None])
        for name, row in means.items()
    ]
    title = f"Accuracy by answer length: {table.dataset} {table.split}"
    drawn = line_chart(series, Axis("words of right answers", names=names), Axis("P@1"))
    header = ["model", *(f"{name} ({n})" for name, n in zip(names, counts, strict=True))]
    rows = [
        [name, *("–" if value is None else f"{value:.3f}" for value in row)]
        for name, row in means.items()
    ]
    return [Picture(title, ABOUT, drawn), Grid(f"{title}, in numbers", IN_NUMBERS, header, rows)]


def _names(bounds: Sequence[float]) -> list[str]:
    between = [f"{low:g}–{high:g}" for low, high in pairwise(bounds)]
    return [f"≤{bounds[0]:g}", *between, f">{bounds[-1]:g}"]
