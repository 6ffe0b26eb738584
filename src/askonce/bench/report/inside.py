"""Rows of a store opened to look inside: their rankers, and a few questions to show them by."""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from askonce.bench.report.results import Line, ResultTable, tables
from askonce.bench.store import Store, StoredCell
from askonce.errors import AskonceError
from askonce.types import Dataset, Pool, Post

if TYPE_CHECKING:
    from askonce.ranker import Ranker

T = TypeVar("T")
EXAMPLES = "Questions stand at even distances in the test set, among those with a right answer."


@dataclass(frozen=True)
class Scene:
    """The main table of a dataset, with the texts that its rows ranked."""

    table: ResultTable
    dataset: Dataset

    @property
    def name(self) -> str:
        """The dataset."""
        return self.table.dataset

    def rows(self, *models: str) -> list[Line]:
        """For each of these models the row to show: of several variants the plainest."""
        return [rows[0] for model in models if (rows := rows_of(self.table, model))]

    def opened(self, *models: str) -> "list[tuple[Line, Ranker]]":
        """The same with their rankers."""
        found = ((row, ranker_of(row)) for row in self.rows(*models))
        return [(row, ranker) for row, ranker in found if ranker is not None]

    @cached_property
    def pools(self) -> list[Pool]:
        """The questions that were ranked and have a right answer among their candidates."""
        ranked = first(self.table.lines[0]).values(self.table.split, self.table.metric)
        return [
            pool
            for pool in self.dataset.splits[self.table.split]
            if pool.query.id in ranked and any(label > 0 for label in pool.labels)
        ]

    def examples(self, count: int) -> list[Pool]:
        """Some of them, at even distances."""
        return spread(self.pools, count)


def scenes(store: Store, *models: str) -> Iterator[Scene]:
    """Each dataset whose texts are there, and, if models are named, has a ranker of one of them.

    Of several reported splits it is the last: of TrecQA that of the clean questions.
    """
    for table in {table.dataset: table for table in tables(store)}.values():
        if models and not any(rows_of(table, model) for model in models):
            continue
        dataset = store.dataset(table.dataset)
        if dataset is not None and table.split in dataset.splits:
            yield Scene(table, dataset)


def rows_of(table: ResultTable, model: str) -> list[Line]:
    """The rows with a ranker of this model, those with the fewest changes to a recipe first."""
    found = [row for row in table.lines if model_of(row) == model and first(row).ranker is not None]
    return sorted(found, key=lambda row: (row.model.count("@"), row.model))


def model_of(row: Line) -> str | None:
    """The registered name of a trained row's model."""
    return recipe_of(row).get("model")


def recipe_of(row: Line) -> Mapping[str, Any]:
    """The recipe of a trained row: ``model``, its ``options``, and more."""
    return first(row).settings.get("row", {}).get("recipe") or {}


def first(row: Line) -> StoredCell:
    """The cell of a row's lowest seed."""
    return min(row.cells, key=lambda cell: cell.seed)


def ranker_of(row: Line) -> "Ranker | None":
    """The ranker of a row's lowest seed; none where its weights are of an older askonce."""
    from askonce.ranker import Ranker

    folder = first(row).ranker
    try:
        return None if folder is None else Ranker.load(folder)
    except AskonceError:
        return None


def best_first(rows: Sequence[Line], metric: str) -> list[Line]:
    """Rows by their mean on test."""
    return sorted(rows, key=lambda row: (-row.mean(metric), row.model))


def rankings(row: Line, queries: Sequence[str]) -> dict[str, list[str]]:
    """The candidates of some queries, best first, without parsing the rest of a long run."""
    wanted = {query.encode(): query for query in queries}
    found: dict[str, list[str]] = {query: [] for query in queries}
    with gzip.open(first(row).folder / "runs" / f"{row.split}.run.gz") as lines:
        for line in lines:  # a run is written in the order of its ranks
            if (query := wanted.get(line[: line.index(b" ")])) is not None:
                found[query].append(line.split()[2].decode())
    return found


def right_answer(pool: Pool) -> Post:
    """The first right candidate."""
    return next(c for c, label in zip(pool.candidates, pool.labels, strict=True) if label > 0)


def spread(items: Sequence[T], count: int) -> list[T]:
    """So many items at even distances; all where there are fewer."""
    if len(items) <= count:
        return list(items)
    return [items[place * len(items) // count] for place in range(count)]


def shortened(text: str, words: int) -> str:
    """The beginning of a text on one line."""
    found = text.split()
    return " ".join(found[:words]) + (" …" if len(found) > words else "")
