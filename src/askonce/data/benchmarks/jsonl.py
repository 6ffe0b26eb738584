"""Your own data as lines of JSON: a question with its candidates, or one pair."""

from collections.abc import Iterator
from pathlib import Path

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.own_pairs import OwnPair, read_splits
from askonce.data.formats.json_lines import Object, json_lines, list_field, name_field, text_field
from askonce.errors import DataError
from askonce.types import Dataset


@DATASETS.add("jsonl")
def read(folder: Path) -> Dataset:
    """Your files ``train.jsonl``, ``dev.jsonl`` and ``test.jsonl``, those that exist.

    A line is ``{"question": ..., "candidates": [{"text": ..., "label": ...}, ...]}`` or one pair
    ``{"question": ..., "answer": ..., "label": ...}``. ``question_id``, ``answer_id`` and the
    ``id`` of a candidate may be there. Lines of the same question (of the same id, where there
    are ids) make one pool.
    """
    return read_splits("jsonl", folder, ("jsonl",), _read_pairs)


def _read_pairs(path: Path) -> Iterator[OwnPair]:
    for line, value in json_lines(path):
        if "candidates" in value:
            for candidate in _candidates(path, line, value):
                yield _pair(path, line, value, candidate, ("text", "id"))
        else:
            yield _pair(path, line, value, value, ("answer", "answer_id"))


def _candidates(path: Path, line: int, value: Object) -> list[Object]:
    candidates = list_field(path, line, value, "candidates")
    if not candidates:
        raise DataError(path, "at least one candidate", "none", line)
    for candidate in candidates:
        if not isinstance(candidate, dict):
            raise DataError(path, "a candidate that is an object", candidate, line)
    return candidates


def _pair(path: Path, line: int, asked: Object, found: Object, keys: tuple[str, str]) -> OwnPair:
    text, name = keys
    return OwnPair(
        line,
        text_field(path, line, asked, "question"),
        text_field(path, line, found, text),
        found.get("label"),
        name_field(path, line, asked, "question_id") if "question_id" in asked else "",
        name_field(path, line, found, name) if name in found else "",
    )
