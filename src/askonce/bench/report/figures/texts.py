"""Sizes of the datasets, and accuracy by the length of right answers."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from statistics import fmean

import numpy as np

from askonce.bench.data import ACCURACY
from askonce.bench.report.blocks import Block, Plot, Table, number_text
from askonce.bench.report.charts import Axis, LineChart, Series
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.results import BASES, Result, ResultTable, tables
from askonce.bench.store import Store
from askonce.text.tokenise import TOKENISERS
from askonce.types import Dataset, Pool

HEADER = (
    "split", "questions", "without a right answer", "candidates", "per question", "right",
    "words of a question", "words of a candidate",
)  # fmt: skip
ABOUT_SIZES = (
    "Computed from the files. Right: the share of candidates that are right. Words: means over "
    "questions and over distinct candidates, title and body together."
)
GONE = "The files are no longer where the bench read them; only counts stored in cells are shown."


@FIGURES.add("dataset-statistics")
def dataset_statistics(store: Store) -> list[Block]:
    return [_table(store, name) for name in store.datasets()]


def _table(store: Store, name: str) -> Block:
    dataset = store.dataset(name)
    title = f"Dataset: {name}"
    if dataset is not None:
        words = TOKENISERS[dataset.tokeniser]
        length = cache(lambda text: len(words(text)))  # splits and pools share texts
        rows = [_row(split, pools, length) for split, pools in dataset.splits.items()]
        notes = [f"All texts of the corpus: {len(dataset.posts):,}."] if dataset.corpus else []
        return Table(title, ABOUT_SIZES, HEADER, rows, notes)
    shape = next(store.cells(name)).settings.get("data", {})
    rows = [_counts(split, *shape[split]) for split in shape]
    return Table(title, ABOUT_SIZES, HEADER, rows, [GONE])


def _row(split: str, pools: Iterable[Pool], length: Callable[[str], int]) -> list[str]:
    pools = list(pools)
    labels = [label > 0 for pool in pools for label in pool.labels]
    posts = {post.id: post for pool in pools for post in pool.candidates}.values()
    without = sum(not pool.positives for pool in pools)
    right = f"{100 * fmean(labels):.1f} %" if labels else "–"
    counts = _counts(split, len(pools), len(labels))[:5]
    texts = [pool.query.text for pool in pools], [post.text for post in posts]
    means = [_mean([length(text) for text in side]) for side in texts]
    return [*counts[:2], f"{without:,}", *counts[3:], right, *means]


def _counts(split: str, questions: int, candidates: int) -> list[str]:
    per_question = f"{candidates / questions:.1f}" if questions else "–"
    return [split, f"{questions:,}", "–", f"{candidates:,}", per_question, "–", "–", "–"]


def _mean(lengths: list[int]) -> str:
    return f"{fmean(lengths):.1f}" if lengths and any(lengths) else "–"


# the paper names the first three bounds; its figure shows eleven buckets
BOUNDS = (50, 55, 60, 65, 70, 80, 90, 100, 120, 160)
MAX_BUCKETS, MIN_QUESTIONS = 11, 20
ABOUT_LENGTH = (
    "P@1 on test by the mean number of words of a question's right answers; after figure 5 of Tan "
    "et al. (ACL 2016), which finds attention and convolution best on long answers."
)
IN_NUMBERS = "The same in numbers; the number of questions is in brackets."


@FIGURES.add("answer-length")
def answer_length(store: Store) -> list[Block]:
    blocks: list[Block] = []
    for table in tables(store):
        dataset = store.dataset(table.dataset)
        results = [
            result
            for result in table.results
            if result.model in BASES or (result.kind == "trained" and "@" not in result.model)
        ]
        if dataset is not None and table.split in dataset.splits and results:
            blocks += _blocks(table, results, right_lengths(dataset, table.split))
    return blocks


def right_lengths(dataset: Dataset, split: str) -> dict[str, float]:
    """The mean number of words of the right answers, for each question that has any."""
    words = TOKENISERS[dataset.tokeniser]
    lengths = {
        pool.query.id: fmean(len(words(post.text)) for post in pool.positives)
        for pool in dataset.splits[split]
        if pool.positives
    }
    return {query: length for query, length in lengths.items() if length > 0}


def bounds_of(dataset: str, lengths: Sequence[float]) -> list[float]:
    """Upper bounds of all buckets but the last: the paper's, elsewhere quantiles."""
    if dataset in ACCURACY:
        return [float(bound) for bound in BOUNDS]
    buckets = min(MAX_BUCKETS, len(lengths) // MIN_QUESTIONS)
    if buckets < 2:
        return []
    quantiles = np.quantile(lengths, np.arange(1, buckets) / buckets)
    return sorted({float(np.ceil(bound)) for bound in quantiles})


def bucket_means(
    values: dict[str, float], lengths: dict[str, float], bounds: Sequence[float]
) -> list[float | None]:
    """The mean value of each bucket's questions; None for an empty bucket."""
    buckets: list[list[float]] = [[] for _ in range(len(bounds) + 1)]
    for query, length in lengths.items():
        buckets[bisect_left(bounds, length)].append(values[query])
    return [fmean(bucket) if bucket else None for bucket in buckets]


def _blocks(table: ResultTable, results: Sequence[Result], every: dict[str, float]) -> list[Block]:
    scored = results[0].by_query("P@1")
    lengths = {query: length for query, length in every.items() if query in scored}
    bounds = bounds_of(table.dataset, list(lengths.values()))
    if not bounds:
        return []
    counts = np.bincount(
        [bisect_left(bounds, length) for length in lengths.values()], minlength=len(bounds) + 1
    )
    between = [f"{low:g}–{high:g}" for low, high in pairwise(bounds)]
    names = [f"≤{bounds[0]:g}", *between, f">{bounds[-1]:g}"]
    means = {r.model: bucket_means(r.by_query("P@1"), lengths, bounds) for r in results}
    series = [
        Series(name, [(float(n), value) for n, value in enumerate(row) if value is not None])
        for name, row in means.items()
    ]
    title = f"Accuracy by answer length: {table.dataset} {table.split}"
    chart = LineChart(series, Axis("words of right answers", names=names), Axis("P@1"))
    header = ["model", *(f"{name} ({n})" for name, n in zip(names, counts, strict=True))]
    rows = [[name, *(number_text(value, ".3f") for value in row)] for name, row in means.items()]
    return [
        Plot(title, ABOUT_LENGTH, chart),
        Table(f"{title}, in numbers", IN_NUMBERS, header, rows),
    ]
