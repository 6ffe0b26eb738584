"""YahooQA: questions of Yahoo! Answers, each with its best answer and four retrieved ones."""

import gzip
import io
import pickle
import reprlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.pools import JudgedPair, judged_pools, stable_hash
from askonce.errors import AskonceError, DataError, shorten
from askonce.files import descend, find
from askonce.types import Dataset, Post

# values are never shown by their full repr: that of a small pickle can be endless
_OUTLINE = reprlib.Repr()
_OUTLINE.maxlevel = 2

SPLITS = {"train": ("train",), "dev": ("dev", "valid"), "test": ("test",)}


@DATASETS.add("yahooqa", "yahoo-qa")
def read(folder: Path) -> Dataset:
    """YahooQA from its published pickle, ``{split: {question: [[answer, label], ...]}}``.

    A pickle with anything but plain data is refused, so that no code of it is run.
    """
    path = _pickle_file(descend(folder, "yahooqa", "YahooQA_Splits"))
    data = _load(path)
    if not isinstance(data, dict):
        raise DataError(path, "a dict of splits", _OUTLINE.repr(data))
    posts: dict[str, Post] = {}
    splits = {
        split: judged_pools(path, _judged_pairs(path, split, _split(path, data, names)), posts)
        for split, names in SPLITS.items()
    }
    return Dataset("yahooqa", splits)


def _pickle_file(folder: Path) -> Path:
    if path := find(folder, "env.pkl") or find(folder / "data", "env.pkl"):
        return path
    paths = sorted([*folder.glob("*.pkl"), *folder.glob("*.pkl.gz")])
    if len(paths) != 1:
        actual = ", ".join(path.name for path in paths) or "none"
        raise AskonceError(
            f"need env.pkl[.gz] or one other .pkl[.gz] in {str(folder)!r}, found {actual}"
        )
    return paths[0]


class _PlainUnpickler(pickle.Unpickler):
    """Reads containers, strings and numbers; refuses anything that would be imported."""

    def __init__(self, raw: bytes, path: Path, encoding: str) -> None:
        super().__init__(io.BytesIO(raw), encoding=encoding)
        self.path = path

    def find_class(self, module: str, name: str, /) -> NoReturn:
        expected = "a pickle of dicts, lists, strings and numbers only"
        raise DataError(self.path, expected, f"{module}.{name}")


def _load(path: Path) -> object:
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(path, "a whole gzip file", str(error)) from None
    if not raw:
        raise DataError(path, "a pickle", "an empty file")
    try:
        try:
            return _PlainUnpickler(raw, path, "utf-8").load()
        except UnicodeDecodeError:  # Python 2 wrote bytes, in any encoding
            return _PlainUnpickler(raw, path, "latin1").load()
    # raised for bytes that are not a pickle, or by one that builds impossible objects
    except (
        pickle.UnpicklingError,
        ArithmeticError,
        AttributeError,
        EOFError,
        ImportError,
        LookupError,
        MemoryError,
        TypeError,
        ValueError,
    ) as error:
        raise DataError(path, "a whole pickle file", str(error)) from None


def _split(path: Path, data: dict[object, object], names: tuple[str, ...]) -> dict[object, object]:
    split = next((data[name] for name in names if name in data), None)
    if isinstance(split, dict) and split:
        return split
    actual = f"the splits {_OUTLINE.repr(list(data))}" if split is None else _OUTLINE.repr(split)
    raise DataError(path, f"a dict of questions under {' or '.join(map(repr, names))}", actual)


def _judged_pairs(path: Path, split: str, questions: dict[object, object]) -> Iterator[JudgedPair]:
    for number, (question, answers) in enumerate(questions.items()):
        query = f"{split}-{number}"
        text = _text(path, f"question {number} of {split!r}", question)
        if not isinstance(answers, list | tuple) or not answers:
            raise DataError(path, f"answers for {shorten(text)}", _OUTLINE.repr(answers))
        for position, pair in enumerate(answers):
            name = f"{query}-{stable_hash(query, position)}"
            match pair:
                case [answer, (0 | 1) as label]:
                    answer = _text(path, f"an answer to {shorten(text)}", answer)
                    yield JudgedPair(None, query, text, name, answer, int(label))
                case _:
                    expected = f"[answer, 0 or 1] for {shorten(text)}"
                    raise DataError(path, expected, _OUTLINE.repr(pair))


def _text(path: Path, name: str, value: object) -> str:
    """A text, or its words in a list or tuple."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    raise DataError(path, f"a text as {name}", _OUTLINE.repr(value))
