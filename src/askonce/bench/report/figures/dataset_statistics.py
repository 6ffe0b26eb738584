"""What the datasets are like, computed from their files."""

from collections.abc import Callable, Iterable
from statistics import fmean

from askonce.bench.report.blocks import Block, Grid
from askonce.bench.report.figures import FIGURES
from askonce.bench.store import Store
from askonce.text.tokenise import TOKENISERS
from askonce.types import Dataset, Pool, Post

HEADER = (
    "split", "questions", "without a right one", "candidates", "per question", "right",
    "words of a question", "words of a candidate",
)  # fmt: skip
ABOUT = (
    "Computed from the files as they were read. Right: the share of candidates that are right. "
    "Mean words of each question and of each distinct candidate, title and body together."
)
GONE = "The files are no longer where the bench read them: only what its cells remember is shown."


@FIGURES.add("dataset-statistics")
def dataset_statistics(store: Store) -> list[Block]:
    """A table for each dataset."""
    return [_grid(store, name) for name in store.datasets()]


def _grid(store: Store, name: str) -> Block:
    dataset = store.dataset(name)
    title = f"Dataset: {name}"
    if dataset is not None:
        notes = [f"All texts that may be ranked: {len(dataset.posts):,}."] if dataset.corpus else []
        return Grid(title, ABOUT, HEADER, _rows(dataset), notes)
    shape = next(store.cells(name)).settings.get("data", {})
    return Grid(title, ABOUT, HEADER, [_known(split, *shape[split]) for split in shape], [GONE])


def _rows(dataset: Dataset) -> list[list[str]]:
    words, known = TOKENISERS[dataset.tokeniser], dict[str, int]()

    def length(post: Post) -> int:
        if post.text not in known:  # splits share texts, and pools do
            known[post.text] = len(words(post.text))
        return known[post.text]

    return [_row(split, pools, length) for split, pools in dataset.splits.items()]


def _row(split: str, pools: Iterable[Pool], length: Callable[[Post], int]) -> list[str]:
    pools = list(pools)
    labels = [label > 0 for pool in pools for label in pool.labels]
    posts = {post.id: post for pool in pools for post in pool.candidates}.values()
    without = sum(not pool.positives for pool in pools)
    right = f"{100 * fmean(labels):.1f} %" if labels else "–"
    counts = _known(split, len(pools), len(labels))[:5]
    means = [_mean([length(pool.query) for pool in pools]), _mean([length(p) for p in posts])]
    return [*counts[:2], f"{without:,}", *counts[3:], right, *means]


def _known(split: str, questions: int, candidates: int) -> list[str]:
    per_question = f"{candidates / questions:.1f}" if questions else "–"
    return [split, f"{questions:,}", "–", f"{candidates:,}", per_question, "–", "–", "–"]


def _mean(lengths: list[int]) -> str:
    return f"{fmean(lengths):.1f}" if lengths and any(lengths) else "–"
