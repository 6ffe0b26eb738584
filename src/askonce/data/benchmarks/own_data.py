"""Your own data: files of questions, answers and labels, as CSV or JSONL."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.pools import JudgedPair, judged_pools, stable_hash
from askonce.data.formats import Record
from askonce.data.formats.csv import find_columns, read_csv
from askonce.data.formats.jsonl import read_objects
from askonce.errors import DataError
from askonce.files import descend, find, need, refuse
from askonce.types import Dataset, Post

SPLITS = ("train", "dev", "test")
_COLUMNS = {  # accepted names
    "question": ("question", "query", "text1", "question1", "sentence1"),
    "answer": ("answer", "candidate", "text", "text2", "question2", "sentence2"),
    "label": ("label", "is_duplicate"),
    "question_id": ("question_id", "query_id"),
    "answer_id": ("answer_id", "candidate_id"),
}
_REQUIRED = ("question", "answer", "label")


class LabelledLine(NamedTuple):
    """A question and an answer; without ids, they are identified by their texts."""

    line: int | None
    question: str
    answer: str
    label: object
    question_id: str = ""
    answer_id: str = ""


@DATASETS.add("csv", "tsv")
def read_csv_folder(folder: Path) -> Dataset:
    """Your tables ``train.csv``, ``dev.csv`` and ``test.csv``, those that exist.

    The first line names the columns: ``question`` (or ``query``), ``answer`` (or ``candidate``,
    or ``text``) and ``label``; for labelled pairs also ``text1``, ``text2``, ``question1``,
    ``question2``, ``sentence1``, ``sentence2`` and ``is_duplicate``; ``question_id`` and
    ``answer_id`` are optional, other columns are ignored. Columns are separated by commas,
    semicolons or tabs. Rows with the same question (the same id, if there are ids) form one pool.
    """
    return _read_splits("csv", folder, ("csv", "tsv"), _csv_pairs)


@DATASETS.add("jsonl")
def read_jsonl_folder(folder: Path) -> Dataset:
    """Your files ``train.jsonl``, ``dev.jsonl`` and ``test.jsonl``, those that exist.

    A line is ``{"question": ..., "candidates": [{"text": ..., "label": ...}, ...]}`` or one pair
    ``{"question": ..., "answer": ..., "label": ...}`` (or ``text1`` and ``text2``).
    ``question_id``, ``answer_id`` and the ``id`` of a candidate are optional. Lines with the same
    question (the same id, if there are ids) form one pool.
    """
    return _read_splits("jsonl", folder, ("jsonl",), _json_pairs)


def _read_splits(
    name: str,
    folder: Path,
    endings: tuple[str, ...],
    read: Callable[[Path], Iterable[LabelledLine]],
) -> Dataset:
    """The splits whose files exist; at least one must."""
    folder = descend(folder)
    files = {split: [f"{split}.{ending}" for ending in endings] for split in SPLITS}
    paths = {split: path for split, names in files.items() if (path := find(folder, *names))}
    if not paths:
        need(folder, *(file for names in files.values() for file in names))
    posts: dict[str, Post] = {}
    splits = {
        split: judged_pools(path, _judged_pairs(path, read(path)), posts)
        for split, path in paths.items()
    }
    return Dataset(name, splits)


def _csv_pairs(path: Path) -> Iterator[LabelledLine]:
    header, rows = read_csv(path)
    columns = find_columns(path, header, _COLUMNS)
    for field in _REQUIRED:
        if field not in columns:
            raise DataError(path, f"a column {' or '.join(_COLUMNS[field])}", header, 1)
    for line, fields in rows:
        values = {name: fields[index] for name, index in columns.items()}
        yield LabelledLine(line, label=_number(values.pop("label")), **values)


def _json_pairs(path: Path) -> Iterator[LabelledLine]:
    for record in read_objects(path):
        try:
            yield from list(_record_pairs(record))  # all of a line or nothing
        except DataError as error:
            refuse(error)


def _record_pairs(record: Record) -> Iterator[LabelledLine]:
    if "candidates" not in record.values:
        answer = "text2" if "text2" in record.values else "answer"
        yield _json_pair(record, record, answer, "answer_id")
        return
    candidates = record.items("candidates")
    if not candidates:
        raise record.error("at least one candidate", "none")
    for candidate in candidates:
        if not isinstance(candidate, dict):
            raise record.error("a candidate that is an object", candidate)
        yield _json_pair(record, Record(record.path, record.line, candidate), "text", "id")


def _json_pair(question: Record, answer: Record, text: str, name: str) -> LabelledLine:
    return LabelledLine(
        question.line,
        question.text("text1" if "text1" in question.values else "question"),
        answer.text(text),
        answer.values.get("label"),
        question.name("question_id") if "question_id" in question.values else "",
        answer.name(name) if name in answer.values else "",
    )


def _judged_pairs(path: Path, pairs: Iterable[LabelledLine]) -> Iterator[JudgedPair]:
    """Without ids, an answer that is repeated with the same label counts once."""
    seen = set()
    for pair in pairs:
        try:
            judged = _judged_pair(path, pair)
        except DataError as error:
            refuse(error)
            continue
        key = (judged.query_id, judged.candidate_id, judged.label)
        if pair.answer_id or key not in seen:
            yield judged
        seen.add(key)


def _judged_pair(path: Path, pair: LabelledLine) -> JudgedPair:
    for what, text in (("a question", pair.question), ("an answer", pair.answer)):
        if not text.strip():
            raise DataError(path, what, text, pair.line)
    return JudgedPair(
        pair.line,
        pair.question_id or stable_hash(pair.question),
        pair.question,
        pair.answer_id or stable_hash(pair.answer),
        pair.answer,
        _label(path, pair),
    )


def _label(path: Path, pair: LabelledLine) -> int:
    label = pair.label
    if isinstance(label, int):
        return int(label)  # true is 1
    if isinstance(label, float) and label.is_integer():
        return int(label)
    expected = "a label that is a whole number, 0 for wrong and 1 or more for right"
    raise DataError(path, expected, "nothing" if label is None else label, pair.line)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
