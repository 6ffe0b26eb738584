"""BEIR folders, which most retrieval tools read: a corpus, queries and judgements."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from askonce.config import as_dict, settings
from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.pools import PoolBuilder
from askonce.data.formats import Record
from askonce.data.formats.beir import (
    document,
    judgements,
    qrels_files,
    query_title_and_body,
    write_judgements,
)
from askonce.data.formats.jsonl import json_object, read_objects, write_objects
from askonce.data.formats.posts import post_from_json
from askonce.errors import AskonceError, ConfigError, DataError
from askonce.files import descend, need, open_stream, raise_errors, whole_text, write_atomic
from askonce.types import Dataset, Pool, Post, PostKind, ProtocolName, TokeniserName, candidates

_FORMAT = 1
_MANIFEST = "askonce.json"
_SAME = ("name", "train", "dev", "test", "protocol", "tokeniser")  # in Dataset and Manifest
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

Posts = Mapping[str, Post]


@dataclass(frozen=True)
class DatasetSettings:
    """``askonce.json``: the properties of a dataset that BEIR has no field for."""

    name: str
    splits: tuple[str, ...]
    train: str
    dev: str
    test: str
    protocol: ProtocolName
    tokeniser: TokeniserName
    corpus: int  # how many lines at the start of corpus.jsonl are the dataset's corpus
    format: int = _FORMAT


@DATASETS.add("beir")
def read(folder: Path) -> Dataset:
    """A BEIR folder: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/*.tsv``, one per split.

    The candidates of a query are the documents judged for it, and ``corpus`` is all documents,
    which count as answers. A folder that :func:`write_beir` made gives the same dataset again: what
    BEIR has no field for is read from ``askonce.json`` and ``pools/*.jsonl``.
    """
    folder = descend(folder, "beir")
    ours = (folder / _MANIFEST).is_file()
    corpus = _read_posts(need(folder, "corpus.jsonl"), ours, "answer")
    queries = _read_posts(need(folder, "queries.jsonl"), ours, "question")
    if ours:
        return _read_ours(folder, queries, corpus)
    paths = qrels_files(folder)
    if not paths:
        raise AskonceError(f"no qrels/*.tsv in {str(folder)!r}")
    splits = {path.name.split(".tsv")[0]: _read_judgements(path, queries, corpus) for path in paths}
    return Dataset("beir", splits, corpus=tuple(corpus.values()))


def write_beir(dataset: Dataset, folder: Path) -> None:
    """Write a dataset so that BEIR tools can read it and :func:`read` restores it unchanged.

    The folder must be new or empty. Where two splits have different posts with the same id,
    ``corpus.jsonl`` and ``queries.jsonl`` hold that of the train, dev or test split.
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
    write_objects(folder / "corpus.jsonl", map(_document, corpus.values()))
    # tools read only the text of a query, so it includes the title
    write_objects(
        folder / "queries.jsonl", (_document(p) | {"text": p.text} for p in queries.values())
    )
    for split, pools in dataset.splits.items():
        rows = (row for pool in pools for row in _judgements(pool))
        write_judgements(folder / "qrels" / f"{split}.tsv", rows)
        lines = (_pool_line(pool, queries, corpus) for pool in pools)
        write_objects(folder / "pools" / f"{split}.jsonl", lines)
    same = {name: getattr(dataset, name) for name in _SAME}
    manifest = DatasetSettings(splits=tuple(dataset.splits), corpus=len(dataset.corpus), **same)
    write_atomic(folder / _MANIFEST, json.dumps(as_dict(manifest), indent=2) + "\n")


def _read_ours(folder: Path, queries: Posts, corpus: Posts) -> Dataset:
    manifest = _read_manifest(folder / _MANIFEST)
    splits = {
        split: tuple(_read_pools(need(folder / "pools", f"{split}.jsonl"), queries, corpus))
        for split in manifest.splits
    }
    same = {name: getattr(manifest, name) for name in _SAME}
    return Dataset(splits=splits, corpus=tuple(corpus.values())[: manifest.corpus], **same)


def _read_manifest(path: Path) -> DatasetSettings:
    values = json_object(path, whole_text(path)).values
    if values.get("format") != _FORMAT:
        raise DataError(path, f"format {_FORMAT}", values.get("format", "none"))
    try:
        manifest = settings(DatasetSettings, values)
    except ConfigError as error:
        raise DataError(path, "the settings of a dataset", str(error)) from None
    for split in manifest.splits:
        if not _SAFE.fullmatch(split):  # a name must not lead out of the folder
            raise DataError(path, "splits that are plain file names", split)
    return manifest


def _read_pools(path: Path, queries: Posts, corpus: Posts) -> Iterator[Pool]:
    for record in read_objects(path, may_be_empty=True):
        retrieved, missed = (
            tuple(_resolve(record, post, corpus) for post in record.items(key))
            for key in ("candidates", "missed")
        )
        labels = record.items("labels")
        if not all(type(label) is int for label in labels):
            raise record.error("labels that are whole numbers", labels)
        given = None if record.values.get("given") is None else record.items("given")
        if not all(isinstance(score, int | float) for score in given or ()):
            raise record.error("given scores that are numbers", given)
        query = _resolve(record, record.values.get("query", ""), queries)
        try:
            scores = None if given is None else tuple(given)
            yield Pool(query, retrieved, tuple(labels), missed, scores)
        except ValueError as error:
            raise record.error("a pool", str(error)) from None


def _read_judgements(path: Path, queries: Posts, corpus: Posts) -> tuple[Pool, ...]:
    builder = PoolBuilder(path)
    with open_stream(path) as stream:
        for line, query, name, score in raise_errors(judgements(stream)):
            if query not in queries:
                raise DataError(path, "a query of queries.jsonl", query, line)
            if name not in corpus:
                raise DataError(path, "a document of corpus.jsonl", name, line)
            builder.add(line, queries[query], corpus[name], score)
    return builder.pools()


def _read_posts(path: Path, ours: bool, kind: PostKind) -> dict[str, Post]:
    """The posts of a file by id; ``kind`` is for folders that are not ours."""
    posts: dict[str, Post] = {}
    for record in read_objects(path, may_be_empty=ours):
        if kind == "question":
            title, body = query_title_and_body(record)
            record = replace(record, values={**record.values, "title": title, "text": body})
        post = _post(record, ours, kind)
        if post.id in posts:
            raise record.error("each id once", f"{post.id!r} again")
        posts[post.id] = post
    return posts


def _post(record: Record, ours: bool, kind: PostKind = "question") -> Post:
    """The post of a line; its metadata is ours only in a folder that :func:`write_beir` made."""
    name, title, text = record.name("_id"), record.text("title", ""), record.text("text")
    if not ours:
        return Post(name, title, text, kind)
    metadata = record.values.get("metadata", {})
    if not isinstance(metadata, dict):
        raise record.error("'metadata': an object", metadata)
    values = {"kind": "question", **metadata, "id": name, "title": title, "body": text}
    return post_from_json(replace(record, values=values))


def _document(post: Post) -> dict[str, Any]:
    """A line of ``corpus.jsonl``; importers take metadata with a kind for an exported archive."""
    line = document(post)
    if post.kind == "question":
        del line["metadata"]["kind"]
    return line


def _resolve(record: Record, value: object, table: Posts) -> Post:
    """The post that a pool names by its id, or holds if that id belongs to another post."""
    if isinstance(value, dict):
        return _post(replace(record, values=value), ours=True)
    if not isinstance(value, str) or value not in table:
        raise record.error("the id of a post of this folder", value)
    return table[value]


def _reference(post: Post, table: Posts) -> str | dict[str, Any]:
    known = table.get(post.id)  # most often the same object, which is quick to compare
    return post.id if known is post or known == post else _document(post)


def _tables(dataset: Dataset) -> tuple[dict[str, Post], dict[str, Post]]:
    """Every candidate and every query by id; posts of the train, dev and test splits come first."""
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


def _pool_line(pool: Pool, queries: Posts, corpus: Posts) -> dict[str, Any]:
    return {
        "query": _reference(pool.query, queries),
        "candidates": [_reference(post, corpus) for post in pool.candidates],
        "labels": pool.labels,
        "missed": [_reference(post, corpus) for post in pool.missed],
        "given": pool.given,
    }


def _judgements(pool: Pool) -> Iterator[tuple[str, str, int]]:
    """One row per candidate; posts that the search missed are relevant too."""
    labels = dict.fromkeys((post.id for post in pool.missed), 1)
    labels |= {post.id: label for post, label in pool.pairs}
    return ((pool.query.id, name, label) for name, label in labels.items())
