"""Look inside the rows of a store: their rankers, and a few questions to show them by."""

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from askonce.bench.report.results import Result, ResultTable, last_tables
from askonce.bench.store import Store
from askonce.errors import AskonceError
from askonce.types import Dataset, Pool, Post, evenly_spaced

if TYPE_CHECKING:
    from askonce.ranker import Ranker, WordsExplained

EXAMPLES = "Questions are evenly spaced in the test set, among those with a right answer."
ATTENTIVE = (
    "attentive-lstm", "attentive-cnn", "ap-bilstm", "ap-cnn", "compare-aggregate", "cabin",
)  # fmt: skip
ATTENTION_KINDS = ("attention", "strength of match")  # of the weights of a candidate's words


@dataclass(frozen=True)
class Scene:
    """The table of a dataset, with the texts that its rows ranked."""

    table: ResultTable
    dataset: Dataset

    @property
    def name(self) -> str:
        return self.table.dataset

    def results(self, *models: str) -> list[Result]:
        """The row to show for each of these models: the variant with the fewest changes."""
        return [results[0] for model in models if (results := results_of(self.table, model))]

    def opened(self, *models: str) -> "list[tuple[Result, Ranker]]":
        pairs = ((result, ranker_of(result)) for result in self.results(*models))
        return [(result, ranker) for result, ranker in pairs if ranker is not None]

    @cached_property
    def pools(self) -> list[Pool]:
        """The questions that were ranked and have a right answer among their candidates."""
        ranked = self.table.results[0].first.values(self.table.split, self.table.metric)
        return [
            pool
            for pool in self.dataset.splits[self.table.split]
            if pool.query.id in ranked and any(label > 0 for label in pool.labels)
        ]

    def examples(self, count: int) -> list[Pool]:
        return evenly_spaced(self.pools, count)


def scenes(store: Store, *models: str) -> Iterator[Scene]:
    """Each dataset whose texts are available and, if models are named, has a ranker of one."""
    for table in last_tables(store):
        if models and not any(results_of(table, model) for model in models):
            continue
        dataset = store.dataset(table.dataset)
        if dataset is not None and table.split in dataset.splits:
            yield Scene(table, dataset)


def results_of(table: ResultTable, model: str) -> list[Result]:
    """The rows with a ranker of this model, those with the fewest changes to a recipe first."""
    results = [
        result
        for result in table.results
        if result.first.recipe.get("model") == model and result.first.ranker is not None
    ]
    return sorted(results, key=lambda result: (result.model.count("@"), result.model))


def ranker_of(result: Result) -> "Ranker | None":
    """The ranker of a row's lowest seed; None if this version cannot read its weights."""
    from askonce.ranker import Ranker

    folder = result.first.ranker
    try:
        return None if folder is None else Ranker.load(folder)
    except AskonceError:
        return None


def best_rows_first(results: Sequence[Result], metric: str) -> list[Result]:
    """Best on test first, without rows whose figures were kept and whose scores were not."""
    scored = [result for result in results if result.first.run_path(result.split).is_file()]
    return sorted(scored, key=lambda result: (-result.mean(metric), result.model))


def rankings(result: Result, queries: Sequence[str]) -> dict[str, list[str]]:
    """The candidates of some queries, best first, without parsing the rest of a long run."""
    wanted = {query.encode(): query for query in queries}
    ranked: dict[str, list[str]] = {query: [] for query in queries}
    with gzip.open(result.first.run_path(result.split)) as lines:
        for line in lines:  # a run is written in the order of its ranks
            if (query := wanted.get(line[: line.index(b" ")])) is not None:
                ranked[query].append(line.split()[2].decode())
    return ranked


def answer_weights(
    ranker: "Ranker", question: Post, answer: Post
) -> tuple[list[str], dict[str, list[float]]]:
    """The answer's words and how much the model attends to each."""
    entry = candidate_words(ranker, question, answer, ATTENTION_KINDS)
    return entry.words, {entry.kind: entry.weights}


def candidate_words(
    ranker: "Ranker", question: Post, answer: Post, kinds: Sequence[str]
) -> "WordsExplained":
    """The answer's words with their weights of one of these kinds."""
    words = ranker.explain(question, answer).words
    return next(entry for entry in words if entry.side == "candidate" and entry.kind in kinds)


def right_answer(pool: Pool) -> Post:
    return next(c for c, label in pool.pairs if label > 0)


def shortened(text: str, words: int) -> str:
    """The beginning of a text on one line."""
    every = text.split()
    return " ".join(every[:words]) + (" …" if len(every) > words else "")
