"""What the readers of people's own files share: pairs with or without ids, in three splits."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from askonce.data.benchmarks.pools import Judgement, judged_pools, stable_hash
from askonce.errors import DataError
from askonce.files import descend, find, need
from askonce.types import Dataset, Post

SPLITS = ("train", "dev", "test")


class OwnPair(NamedTuple):
    """A question and an answer as a file has them; without ids, the texts tell them apart."""

    line: int
    question: str
    answer: str
    label: object
    question_id: str = ""
    answer_id: str = ""


def read_splits(
    name: str,
    folder: Path,
    endings: tuple[str, ...],
    read_pairs: Callable[[Path], Iterable[OwnPair]],
) -> Dataset:
    """The splits whose files exist; at least one must."""
    folder = descend(folder)
    files = {split: [f"{split}.{ending}" for ending in endings] for split in SPLITS}
    paths = {split: path for split, names in files.items() if (path := find(folder, *names))}
    if not paths:
        need(folder, *(file for names in files.values() for file in names))
    posts: dict[str, Post] = {}
    splits = {
        split: judged_pools(path, _judgements(path, read_pairs(path)), posts)
        for split, path in paths.items()
    }
    return Dataset(name, splits)


def _judgements(path: Path, pairs: Iterable[OwnPair]) -> Iterator[Judgement]:
    """Forums repeat themselves: without ids, an answer with the same label again counts once."""
    seen = set()
    for pair in pairs:
        for what, text in (("a question", pair.question), ("an answer", pair.answer)):
            if not text.strip():
                raise DataError(path, what, text, pair.line)
        judgement = Judgement(
            pair.line,
            pair.question_id or stable_hash(pair.question),
            pair.question,
            pair.answer_id or stable_hash(pair.answer),
            pair.answer,
            _whole_number(path, pair.line, pair.label),
        )
        key = (judgement.query_id, judgement.candidate_id, judgement.label)
        if pair.answer_id or key not in seen:
            yield judgement
        seen.add(key)


def _whole_number(path: Path, line: int, label: object) -> int:
    """A label as a number: 0 for wrong, 1 or more for right."""
    if isinstance(label, int):
        return int(label)  # true is 1
    if isinstance(label, float) and label.is_integer():
        return int(label)
    expected = "a label that is a whole number, 0 for wrong and 1 or more for right"
    raise DataError(path, expected, "nothing" if label is None else label, line)
