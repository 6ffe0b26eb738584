"""BEIR folders, which most retrieval tools read: a corpus, queries and judgements."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from askonce.config import as_dict, settings
from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.beir_posts import (
    document,
    query_line,
    read_documents,
    read_queries,
    reference,
    resolve,
)
from askonce.data.benchmarks.pool_builder import PoolBuilder
from askonce.data.formats.csv_records import csv_records
from askonce.data.formats.json_lines import Object, json_lines, json_object, list_field
from askonce.errors import AskonceError, ConfigError, DataError
from askonce.files import descend, need, whole_text
from askonce.types import Dataset, Pool, Post, ProtocolName, TokeniserName, candidates

_FORMAT = 1
_MANIFEST = "askonce.json"
_HEADER = ("query-id", "corpus-id", "score")
_WHOLE = re.compile(r"[+-]?\d+")
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

Posts = Mapping[str, Post]


@dataclass(frozen=True)
class Manifest:
    """What a BEIR folder of ours says about the dataset as a whole."""

    name: str
    splits: tuple[str, ...]
    train: str
    dev: str
    test: str
    protocol: ProtocolName
    tokeniser: TokeniserName
    corpus: int  # so many lines at the start of corpus.jsonl are the dataset's corpus
    format: int = _FORMAT


@DATASETS.add("beir")
def read(folder: Path) -> Dataset:
    """A BEIR folder: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/*.tsv``, one per split.

    The candidates of a query are the documents judged for it, and ``corpus`` is all documents,
    which count as answers. A folder that :func:`write_beir` made is read back as the very dataset
    it was made from: what BEIR has no place for is in ``askonce.json`` and ``pools/*.jsonl``, and
    these decide.
    """
    folder = descend(folder, "beir")
    ours = (folder / _MANIFEST).is_file()
    corpus = read_documents(need(folder, "corpus.jsonl"), ours)
    queries = read_queries(need(folder, "queries.jsonl"), ours)
    if ours:
        return _read_ours(folder, queries, corpus)
    paths = sorted([*folder.glob("qrels/*.tsv"), *folder.glob("qrels/*.tsv.gz")])
    if not paths:
        raise AskonceError(f"no qrels/*.tsv in {str(folder)!r}")
    splits = {path.name.split(".tsv")[0]: _read_judgements(path, queries, corpus) for path in paths}
    return Dataset("beir", splits, corpus=tuple(corpus.values()))


def write_beir(dataset: Dataset, folder: Path) -> None:
    """Write a dataset so that BEIR tools can read it, and :func:`read` gives it back unchanged.

    The folder must be new or empty. Where two splits hold different posts of one id,
    ``corpus.jsonl`` and ``queries.jsonl`` have that of the split to train, choose or report on.
    """
    for split in dataset.splits:
        if not _SAFE.fullmatch(split):
            raise AskonceError(
                f"split {split!r} is no file name; use letters, digits, '-', '_', '.'"
            )
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AskonceError(f"{str(folder)!r} is no empty folder; choose a new one")
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "pools").mkdir()
    corpus, queries = _tables(dataset)
    _write_lines(folder / "corpus.jsonl", map(document, corpus.values()))
    _write_lines(folder / "queries.jsonl", map(query_line, queries.values()))
    for split, pools in dataset.splits.items():
        _write_judgements(folder / "qrels" / f"{split}.tsv", pools)
        lines = (_pool_line(pool, queries, corpus) for pool in pools)
        _write_lines(folder / "pools" / f"{split}.jsonl", lines)
    manifest = Manifest(
        dataset.name,
        tuple(dataset.splits),
        dataset.train,
        dataset.dev,
        dataset.test,
        dataset.protocol,
        dataset.tokeniser,
        len(dataset.corpus),
    )
    text = json.dumps(as_dict(manifest), indent=2)
    (folder / _MANIFEST).write_text(text + "\n", "utf-8")


def _read_ours(folder: Path, queries: Posts, corpus: Posts) -> Dataset:
    manifest = _read_manifest(folder / _MANIFEST)
    splits = {
        split: tuple(_read_pools(need(folder / "pools", f"{split}.jsonl"), queries, corpus))
        for split in manifest.splits
    }
    return Dataset(
        manifest.name,
        splits,
        manifest.train,
        manifest.dev,
        manifest.test,
        manifest.protocol,
        manifest.tokeniser,
        tuple(corpus.values())[: manifest.corpus],
    )


def _read_manifest(path: Path) -> Manifest:
    values = json_object(path, whole_text(path))
    if values.get("format") != _FORMAT:
        raise DataError(path, f"format {_FORMAT}", values.get("format", "none"))
    try:
        manifest = settings(Manifest, values)
    except ConfigError as error:
        raise DataError(path, "the settings of a dataset", str(error)) from None
    for split in manifest.splits:
        if not _SAFE.fullmatch(split):  # or a name could lead out of the folder
            raise DataError(path, "splits that are plain file names", split)
    return manifest


def _read_pools(path: Path, queries: Posts, corpus: Posts) -> Iterator[Pool]:
    for line, value in json_lines(path, may_be_empty=True):
        found, missed = (
            tuple(resolve(path, line, post, corpus) for post in list_field(path, line, value, key))
            for key in ("candidates", "missed")
        )
        labels = list_field(path, line, value, "labels")
        if not all(type(label) is int for label in labels):
            raise DataError(path, "labels that are whole numbers", labels, line)
        given = None if value.get("given") is None else list_field(path, line, value, "given")
        if not all(isinstance(score, int | float) for score in given or ()):
            raise DataError(path, "given scores that are numbers", given, line)
        query = resolve(path, line, value.get("query", ""), queries)
        try:
            scores = None if given is None else tuple(given)
            yield Pool(query, found, tuple(labels), missed, scores)
        except ValueError as error:
            raise DataError(path, "a pool", str(error), line) from None


def _read_judgements(path: Path, queries: Posts, corpus: Posts) -> tuple[Pool, ...]:
    builder = PoolBuilder(path)
    records = csv_records(path)
    _, header = next(records, (1, []))
    if tuple(header) != _HEADER:
        raise DataError(path, "the header " + " ".join(_HEADER), header, 1)
    for line, record in records:
        if len(record) != len(_HEADER):
            raise DataError(path, f"{len(_HEADER)} columns", record, line)
        query, name, score = record
        if query not in queries:
            raise DataError(path, "a query of queries.jsonl", query, line)
        if name not in corpus:
            raise DataError(path, "a document of corpus.jsonl", name, line)
        if not _WHOLE.fullmatch(score):
            raise DataError(path, "a score that is a whole number", score, line)
        builder.add(line, queries[query], corpus[name], int(score))
    return builder.pools()


def _tables(dataset: Dataset) -> tuple[dict[str, Post], dict[str, Post]]:
    """Every candidate and every query by id; of two with one id, the one that matters more."""
    corpus = {post.id: post for post in dataset.corpus}
    if len(corpus) != len(dataset.corpus):
        raise AskonceError(f"dataset {dataset.name!r} has two posts of one id in its corpus")
    roles = (dataset.train, dataset.dev, dataset.test)
    ordered = sorted(dataset.splits, key=lambda split: split not in roles)
    pools = [pool for split in ordered for pool in dataset.splits[split]]
    for post in candidates(pools):
        corpus.setdefault(post.id, post)
    queries: dict[str, Post] = {}
    for pool in pools:
        queries.setdefault(pool.query.id, pool.query)
    return corpus, queries


def _pool_line(pool: Pool, queries: Posts, corpus: Posts) -> Object:
    return {
        "query": reference(pool.query, queries),
        "candidates": [reference(post, corpus) for post in pool.candidates],
        "labels": pool.labels,
        "missed": [reference(post, corpus) for post in pool.missed],
        "given": pool.given,
    }


def _write_judgements(path: Path, pools: Iterable[Pool]) -> None:
    """One line per candidate; what a search missed is right all the same."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(_HEADER)
        for pool in pools:
            labels = dict.fromkeys((post.id for post in pool.missed), 1)
            labels |= {
                post.id: label for post, label in zip(pool.candidates, pool.labels, strict=True)
            }
            writer.writerows((pool.query.id, name, label) for name, label in labels.items())


def _write_lines(path: Path, lines: Iterable[Object]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in lines)
