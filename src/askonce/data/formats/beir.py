"""BEIR folders, which most retrieval tools read: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/``.

What BEIR has no field for is in ``metadata``.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from askonce.data.formats import Record
from askonce.data.formats.csv import csv_rows
from askonce.data.formats.posts import post_to_json
from askonce.errors import DataError
from askonce.files import Stream, replacing
from askonce.types import Post

HEADER = ("query-id", "corpus-id", "score")
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")


class Judgement(NamedTuple):
    """A line of a table in ``qrels/``; a document is relevant if its score is above 0."""

    line: int
    query: str
    document: str
    score: int


def qrels_files(folder: Path) -> list[Path]:
    """The tables of judgements, one per split."""
    return sorted([*folder.glob("qrels/*.tsv"), *folder.glob("qrels/*.tsv.gz")])


def judgements(stream: Stream, header: bool = True) -> Iterator[Judgement | DataError]:
    """The rows of a table, in which only ``header=False`` allows a missing header."""
    rows = csv_rows(stream)
    first = next(rows, (1, [""]))
    if isinstance(first, DataError):
        yield first
    elif tuple(first[1]) != HEADER:
        missing = DataError(stream.name, "the header " + " ".join(HEADER), first[1], 1)
        yield missing if header else _judgement(stream.name, *first)
    for row in rows:
        yield row if isinstance(row, DataError) else _judgement(stream.name, *row)


def _judgement(path: Path, line: int, fields: Sequence[str]) -> Judgement | DataError:
    if len(fields) != len(HEADER):
        return DataError(path, f"{len(HEADER)} columns", fields, line)
    query, document, score = fields
    if not _INTEGER.fullmatch(score):
        return DataError(path, "a score that is a whole number", score, line)
    return Judgement(line, query, document, int(score))


def write_judgements(path: Path, rows: Iterable[tuple[str, str, int]]) -> None:
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(rows)


def document(post: Post) -> dict[str, Any]:
    metadata = post_to_json(post)
    for name in ("id", "title", "body"):
        metadata.pop(name, None)
    return {"_id": post.id, "title": post.title, "text": post.body, "metadata": metadata}


def query_title_and_body(query: Record) -> tuple[str, str]:
    """Title and body of a query, whose ``text`` often repeats its title."""
    text, title = query.text("text"), query.text("title", "")
    if title:
        text = "" if text == title else text.removeprefix(f"{title}\n")
    return title, text
