"""Your own data as tables: a question, an answer and a label in each row."""

from collections.abc import Iterator
from pathlib import Path

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.own_pairs import OwnPair, read_splits
from askonce.data.formats.csv_records import csv_records
from askonce.errors import DataError
from askonce.types import Dataset

_COLUMNS = {  # what a column may be called
    "question": ("question", "query"),
    "answer": ("answer", "candidate", "text"),
    "label": ("label",),
    "question_id": ("question_id", "query_id"),
    "answer_id": ("answer_id", "candidate_id"),
}
_NEEDED = ("question", "answer", "label")


@DATASETS.add("csv", "tsv")
def read(folder: Path) -> Dataset:
    """Your tables ``train.csv``, ``dev.csv`` and ``test.csv``, those that exist.

    The first line names the columns: ``question`` (or ``query``), ``answer`` (or ``candidate``,
    or ``text``) and ``label``; ``question_id`` and ``answer_id`` may be there, other columns are
    ignored. Columns are separated by commas, or by tabs where the first line has tabs. Rows of
    the same question (of the same id, where there are ids) make one pool.
    """
    return read_splits("csv", folder, ("csv", "tsv"), _read_pairs)


def _read_pairs(path: Path) -> Iterator[OwnPair]:
    records = csv_records(path)
    _, header = next(records, (1, []))
    places = _places(path, header)
    for line, record in records:
        if len(record) != len(header):
            raise DataError(path, f"{len(header)} columns", f"{len(record)} in {record}", line)
        fields = {name: record[place] for name, place in places.items()}
        yield OwnPair(line, label=_number(fields.pop("label")), **fields)


def _places(path: Path, header: list[str]) -> dict[str, int]:
    """Which column holds what."""
    names = [name.strip().lower() for name in header]
    places = {
        what: names.index(name)
        for what, synonyms in _COLUMNS.items()
        if (name := next((s for s in synonyms if s in names), None))
    }
    for what in _NEEDED:
        if what not in places:
            raise DataError(path, f"a column {' or '.join(_COLUMNS[what])}", header, 1)
    return places


def _number(text: str) -> float | str:
    """The number, or the text itself where it is none, for the error to show."""
    try:
        return float(text)
    except ValueError:
        return text
