"""InsuranceQA V1: the first release, on which most papers report top-1 accuracy."""

from collections.abc import Iterator
from pathlib import Path

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.encoded import Decoder, decoder, read_answers
from askonce.data.benchmarks.pools import searched_pool
from askonce.files import descend, need, rows
from askonce.types import Dataset, Pool, Post


@DATASETS.add("insuranceqa-v1")
def read(folder: Path) -> Dataset:
    """InsuranceQA V1 in its published form, texts as tokens behind a vocabulary.

    A training pool holds the right answers only: every other answer of the corpus is wrong.
    """
    folder = descend(descend(folder, "insuranceqa_v1"), "V1")
    decode = decoder(need(folder, "vocabulary"))
    answers = read_answers(need(folder, "answers.label.token_idx"), decode)
    train = need(folder, "question.train.token_idx.label")
    splits = {"train": tuple(_train(train, decode, answers))}
    for split in ("dev", "test1", "test2"):
        path = need(folder, f"question.{split}.label.token_idx.pool")
        splits[split] = tuple(_pools(path, split, decode, answers))
    corpus = tuple(answers.values())
    return Dataset("insuranceqa-v1", splits, test="test1", tokeniser="whitespace", corpus=corpus)


def _train(path: Path, decode: Decoder, answers: dict[str, Post]) -> Iterator[Pool]:
    for number, (text, right) in rows(path, 2):
        query = Post(f"train-{number - 1}", title=decode(path, number, text))
        yield searched_pool(query, right.split(), right.split(), answers, (path, number))


def _pools(path: Path, split: str, decode: Decoder, answers: dict[str, Post]) -> Iterator[Pool]:
    for number, (right, text, found) in rows(path, 3):
        query = Post(f"{split}-{number - 1}", title=decode(path, number, text))
        yield searched_pool(query, found.split(), right.split(), answers, (path, number))
