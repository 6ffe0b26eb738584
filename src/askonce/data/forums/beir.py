"""BEIR folders, which most retrieval tools read: a corpus, queries and judgements."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from askonce.data.formats.json_lines import Object, name_field, text_field
from askonce.data.forums import IMPORTERS, Damaged, Record, Source
from askonce.data.forums.jsonl import json_objects, post_of
from askonce.errors import AskonceError, DataError, shorten
from askonce.files import need
from askonce.types import Link, LinkKind, Post

_HEADER = ["query-id", "corpus-id", "score"]
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
_LONGEST_TITLE = 300


@dataclass
class _Judged:
    """Which documents are right for which queries."""

    names: dict[str, str] = field(default_factory=dict)  # the question of each query
    links: dict[tuple[str, str], LinkKind] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)  # the first query of each document
    answers: set[str] = field(default_factory=set)  # documents that are no questions


@IMPORTERS.add("beir")
def read(source: Source) -> Iterator[Record]:
    """A BEIR folder: corpus.jsonl, queries.jsonl and qrels/*.tsv.

    A document becomes a question, unless its metadata says that it is an answer; then it belongs to
    the question that it names, or to the first query that it is right for. A query becomes the
    question ``query-ID``, since queries and documents may share ids, unless its metadata names the
    document that it is. Right pairs of questions become duplicates, those of ``related.tsv`` links
    of that kind.
    """
    folder = source.need_place("a BEIR folder")
    if not folder.is_dir():
        raise AskonceError(f"{str(folder)!r} is a file; expected a BEIR folder")
    corpus, queries = need(folder, "corpus.jsonl"), need(folder, "queries.jsonl")
    tables = sorted([*folder.glob("qrels/*.tsv"), *folder.glob("qrels/*.tsv.gz")])
    source.expect(queries, corpus, *tables)
    judged = _Judged()
    yield from _each(source, queries, lambda name, line, value: _query(name, line, value, judged))
    for table in tables:
        yield from _judgements(source, table, judged)
    yield from _each(source, corpus, lambda name, line, value: _document(name, line, value, judged))
    for (question, document), kind in judged.links.items():
        if document not in judged.answers:
            yield Link(question, document, kind)


def _each(
    source: Source, path: Path, post: Callable[[Path, int, Object], Post | None]
) -> Iterator[Post | Damaged]:
    with source.open(path) as stream:
        for value in json_objects(stream, may_be_empty=True):
            if isinstance(value, Damaged):
                yield value
                continue
            try:
                found = post(stream.name, *value)
            except DataError as error:
                yield Damaged.of(error)
            else:
                if found is not None:
                    yield found


def _query(name: Path, line: int, value: Object, judged: _Judged) -> Post | None:
    query, metadata = name_field(name, line, value, "_id"), _metadata(value)
    if isinstance(document := metadata.get("post"), str):
        judged.names[query] = document
        return None
    judged.names[query] = f"query-{query}"
    text, title = text_field(name, line, value, "text"), text_field(name, line, value, "title", "")
    title, body = _title_and_body(title, text.removeprefix(f"{title}\n") if text != title else "")
    return Post(f"query-{query}", title, body)


def _document(name: Path, line: int, value: Object, judged: _Judged) -> Post:
    document, metadata = name_field(name, line, value, "_id"), _metadata(value)
    text, title = text_field(name, line, value, "text"), text_field(name, line, value, "title", "")
    if "kind" not in metadata:
        return Post(document, *_title_and_body(title, text))
    post = post_of(name, line, {**metadata, "id": document, "title": title, "body": text})
    if post.kind == "answer":
        judged.answers.add(document)
        if post.parent is None:
            post = replace(post, parent=judged.asked.get(document))
    return post


def _judgements(source: Source, path: Path, judged: _Judged) -> Iterator[Damaged]:
    kind: LinkKind = "related" if path.name.startswith("related.") else "duplicate"
    with source.open(path) as stream:
        for line, raw in enumerate(stream.lines(), start=1):
            fields = raw.decode("utf-8", "replace").strip().split("\t")
            if fields in (_HEADER, [""]):
                continue
            if len(fields) != len(_HEADER) or not _WHOLE.fullmatch(fields[2]):
                what = f"expected {', '.join(_HEADER)}, found {shorten(fields)}"
                yield Damaged(f"{stream.name}, line {line}", what)
            elif int(fields[2]) > 0:
                question = judged.names.get(fields[0], f"query-{fields[0]}")
                judged.links.setdefault((question, fields[1]), kind)
                judged.asked.setdefault(fields[1], question)


def _metadata(value: Object) -> Object:
    metadata = value.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _title_and_body(title: str, text: str) -> tuple[str, str]:
    """A question needs a title to be listed by; a short text without one is its own."""
    own = not title and "\n" not in text and len(text) <= _LONGEST_TITLE
    return (text, "") if own else (title, text)
