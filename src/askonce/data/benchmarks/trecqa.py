"""TrecQA: factoid questions of the TREC tracks and sentences that may answer them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.pools import JudgedPair, binary_label, judged_pools, stable_hash
from askonce.errors import DataError
from askonce.files import descend, find, need, numbered_lines, rows
from askonce.types import Dataset, Pool, Post

FILES = {
    "train": ("train.tsv", "train-less-than-40.manual-edit.xml"),
    "train-all": ("train-all.tsv", "train2393.cleanup.xml"),
    "dev": ("dev.tsv", "dev-less-than-40.manual-edit.xml"),
    "test": ("test.tsv", "test-less-than-40.manual-edit.xml"),
}

JudgedLine = tuple[int, list[str]]  # its number; question id, label, question, sentence


@DATASETS.add("trecqa", "trec-qa")
def read(folder: Path) -> Dataset:
    """TrecQA from its tables (id, label, question, sentence) or from the jacana files.

    ``raw`` splits hold every question with a sentence; ``clean`` ones leave out questions whose
    sentences are all relevant or all irrelevant. Without ``train-all``, training uses ``train``.
    """
    folder = descend(folder, "trecqa")
    posts: dict[str, Post] = {}
    trains = {
        name: _pools(path, name, posts)
        for name in ("train", "train-all")
        if (path := _find(folder, name))
    }
    if not trains:
        need(folder, *FILES["train-all"], *FILES["train"])
    splits = dict(trains)
    for name in ("dev", "test"):
        path = _find(folder, name) or need(folder, *FILES[name])
        splits[f"{name}-raw"] = raw = _pools(path, name, posts)
        splits[f"{name}-clean"] = clean(raw)
    return Dataset(
        "trecqa",
        splits,
        train="train-all" if "train-all" in trains else "train",
        dev="dev-clean",
        test="test-clean",
        tokeniser="whitespace",
    )


def clean(pools: Iterable[Pool]) -> tuple[Pool, ...]:
    """The pools with at least one relevant and one irrelevant candidate."""
    return tuple(pool for pool in pools if 0 < sum(pool.labels) < len(pool.labels))


def _find(folder: Path, split: str) -> Path | None:
    return find(folder, *FILES[split]) or find(descend(folder, "jacana"), *FILES[split])


def _pools(path: Path, split: str, posts: dict[str, Post]) -> tuple[Pool, ...]:
    table = _jacana_rows(path) if ".xml" in path.suffixes else rows(path, 4)
    return judged_pools(path, _judged_pairs(path, split, table), posts)


def _judged_pairs(path: Path, split: str, table: Iterable[JudgedLine]) -> Iterator[JudgedPair]:
    seen: Counter[str] = Counter()
    for line, (query, label, question, sentence) in table:
        # the position distinguishes equal sentences; the hash hides that relevant ones come first
        name = f"{query}-{stable_hash(split, query, seen[query])}"
        seen[query] += 1
        yield JudgedPair(line, query, question, name, sentence, binary_label(path, line, label))


def _jacana_rows(path: Path) -> Iterator[JudgedLine]:
    labels = {"positive": "1", "negative": "0"}
    questions: dict[str, str] = {}
    for number, query, kind, text in _blocks(path):
        if kind == "question":
            questions[query] = text
        elif query in questions:
            yield number, [query, labels[kind], questions[query], text]
        else:
            raise DataError(path, f"the question of {query!r} before its sentences", text, number)


_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>QApairs|question|positive|negative)( id='(?P<id>[^']+)')?>"
)


def _blocks(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Line number, question id, tag and tokens of each block.

    The files look like XML but are not (no root, a bare ``&``). Every tag is on its own line; a
    block's first line holds its tokens, separated by tabs, the other lines are annotation.
    """
    depth: list[str] = []
    query, fresh, number = "", False, 0
    for number, line in numbered_lines(path):
        tag = None if fresh else _TAG.fullmatch(line)
        if tag:
            _step(path, number, tag, depth)
            query = tag["id"] or query
            fresh = not tag["end"] and tag["name"] != "QApairs"
        elif fresh:
            yield number, query, depth[-1], " ".join(line.split("\t"))
            fresh = False
        elif len(depth) < 2 and line:
            raise DataError(path, "a tag such as <QApairs id='1'> or <positive>", line, number)
    if depth:
        raise DataError(path, f"</{depth[-1]}>", "the end of the file", number)


def _step(path: Path, number: int, tag: re.Match[str], depth: list[str]) -> None:
    """Open or close a tag: questions and sentences are directly inside QApairs."""
    name = tag["name"]
    if tag["end"]:
        if not depth or depth.pop() != name:
            raise DataError(path, "an opening tag before its end", tag[0], number)
        return
    if (name == "QApairs") != (tag["id"] is not None):
        raise DataError(path, "an id in <QApairs> only", tag[0], number)
    if depth != ([] if name == "QApairs" else ["QApairs"]):
        raise DataError(path, f"</{depth[-1]}>" if depth else "<QApairs id='1'>", tag[0], number)
    depth.append(name)
