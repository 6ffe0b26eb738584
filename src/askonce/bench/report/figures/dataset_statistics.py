"""Sizes of the datasets, computed from their files."""

from collections.abc import Callable, Iterable
from statistics import fmean

from askonce.bench.report.blocks import Block, Table
from askonce.bench.report.figures import FIGURES
from askonce.bench.store import Store
from askonce.text.tokenise import TOKENISERS
from askonce.types import Dataset, Pool, Post

HEADER = (
    "split", "questions", "without a right answer", "candidates", "per question", "right",
    "words of a question", "words of a candidate",
)  # fmt: skip
ABOUT = (
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
        notes = [f"All texts of the corpus: {len(dataset.posts):,}."] if dataset.corpus else []
        return Table(title, ABOUT, HEADER, _rows(dataset), notes)
    shape = next(store.cells(name)).settings.get("data", {})
    rows = [_counts(split, *shape[split]) for split in shape]
    return Table(title, ABOUT, HEADER, rows, [GONE])


def _rows(dataset: Dataset) -> list[list[str]]:
    words, lengths = TOKENISERS[dataset.tokeniser], dict[str, int]()

    def length(post: Post) -> int:
        if post.text not in lengths:  # splits and pools share texts
            lengths[post.text] = len(words(post.text))
        return lengths[post.text]

    return [_row(split, pools, length) for split, pools in dataset.splits.items()]


def _row(split: str, pools: Iterable[Pool], length: Callable[[Post], int]) -> list[str]:
    pools = list(pools)
    labels = [label > 0 for pool in pools for label in pool.labels]
    posts = {post.id: post for pool in pools for post in pool.candidates}.values()
    without = sum(not pool.positives for pool in pools)
    right = f"{100 * fmean(labels):.1f} %" if labels else "–"
    counts = _counts(split, len(pools), len(labels))[:5]
    means = [_mean([length(pool.query) for pool in pools]), _mean([length(p) for p in posts])]
    return [*counts[:2], f"{without:,}", *counts[3:], right, *means]


def _counts(split: str, questions: int, candidates: int) -> list[str]:
    per_question = f"{candidates / questions:.1f}" if questions else "–"
    return [split, f"{questions:,}", "–", f"{candidates:,}", per_question, "–", "–", "–"]


def _mean(lengths: list[int]) -> str:
    return f"{fmean(lengths):.1f}" if lengths and any(lengths) else "–"
