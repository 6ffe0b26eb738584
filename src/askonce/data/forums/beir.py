"""BEIR folders: documents and queries become questions, judgements become links."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from askonce.data import formats
from askonce.data.formats.beir import Judgement, judgements, qrels_files, query_title_and_body
from askonce.data.formats.jsonl import json_objects
from askonce.data.formats.posts import post_from_json
from askonce.data.formats.sources import web_address
from askonce.data.forums import IMPORTERS, Imported, Source, converted
from askonce.errors import AskonceError
from askonce.files import need
from askonce.types import Link, LinkKind, Post

_LONGEST_TITLE = 300


@dataclass
class _Judged:
    questions: dict[str, str] = field(default_factory=dict)  # query -> id of its question
    links: dict[tuple[str, str], LinkKind] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)  # document -> its first query's question
    answers: set[str] = field(default_factory=set)  # documents that are answers

    def add(self, row: Judgement, kind: LinkKind) -> None:
        if row.score > 0:
            question = self.questions.get(row.query, f"query-{row.query}")
            self.links.setdefault((question, row.document), kind)
            self.asked.setdefault(row.document, question)


@IMPORTERS.add("beir")
def read(source: Source) -> Iterator[Imported]:
    """A BEIR folder: corpus.jsonl, queries.jsonl and qrels/*.tsv.

    A document becomes a question, unless its metadata says that it is an answer; then it belongs to
    the question that it names, or to the first query that it is relevant for. A query becomes the
    question ``query-ID``, since queries and documents may share ids, unless its metadata names the
    document that it is. Relevant pairs of questions become duplicates, those of ``related.tsv``
    links of that kind.
    """
    folder = source.need_path("a BEIR folder")
    if not folder.is_dir():
        raise AskonceError(f"{str(folder)!r} is a file; expected a BEIR folder")
    corpus, queries = need(folder, "corpus.jsonl"), need(folder, "queries.jsonl")
    tables = qrels_files(folder)
    source.expect(queries, corpus, *tables)
    judged = _Judged()
    yield from _objects(source, queries, lambda record: _query(record, judged))
    for table in tables:
        yield from _judge(source, table, judged)
    yield from _objects(source, corpus, lambda record: [_document(record, judged)])
    for (question, document), kind in judged.links.items():
        if document not in judged.answers:
            yield Link(question, document, kind)


def _objects(
    source: Source, path: Path, convert: Callable[[formats.Record], Sequence[Post]]
) -> Iterator[Imported]:
    with source.open(path) as stream:
        yield from converted(json_objects(stream, may_be_empty=True), convert)


def _judge(source: Source, path: Path, judged: _Judged) -> Iterator[Imported]:
    kind: LinkKind = "related" if path.name.startswith("related.") else "duplicate"

    def add(row: Judgement) -> tuple[()]:
        judged.add(row, kind)
        return ()

    with source.open(path) as stream:
        yield from converted(judgements(stream, header=False), add)


def _query(record: formats.Record, judged: _Judged) -> list[Post]:
    query = record.name("_id")
    if isinstance(document := _metadata(record).get("post"), str):
        judged.questions[query] = document
        return []
    judged.questions[query] = f"query-{query}"
    return [Post(f"query-{query}", *_with_title(*query_title_and_body(record)))]


def _document(record: formats.Record, judged: _Judged) -> Post:
    document, metadata = record.name("_id"), _metadata(record)
    text, title = record.text("text"), record.text("title", "")
    if "kind" not in metadata:
        title, text = _with_title(title, text)
        return Post(document, title, text, url=web_address(metadata.get("url")))
    values = {**metadata, "id": document, "title": title, "body": text}
    post = post_from_json(replace(record, values=values))
    if post.kind == "answer":
        judged.answers.add(document)
        if post.parent is None:
            post = replace(post, parent=judged.asked.get(document))
    return post


def _metadata(record: formats.Record) -> dict[str, object]:
    metadata = record.values.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _with_title(title: str, text: str) -> tuple[str, str]:
    """Title and body; a short text without a title becomes the title, for lists of questions."""
    is_title = not title and "\n" not in text and len(text) <= _LONGEST_TITLE
    return (text, "") if is_title else (title, text)
