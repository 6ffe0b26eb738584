"""BEIR folders, which most retrieval tools read: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/``.

What BEIR has no field for is in ``metadata``.
"""

import csv
import re
from collections.abc import Iterable, Iterator
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


def judgements(stream: Stream) -> Iterator[Judgement | DataError]:
    rows = csv_rows(stream)
    header = next(rows, (1, []))
    if isinstance(header, DataError):
        yield header
    elif tuple(header[1]) != HEADER:
        yield DataError(stream.name, "the header " + " ".join(HEADER), header[1], 1)
    for row in rows:
        if isinstance(row, DataError):
            yield row
        elif len(row[1]) != len(HEADER):
            yield DataError(stream.name, f"{len(HEADER)} columns", row[1], row[0])
        elif _INTEGER.fullmatch(row[1][2]):
            yield Judgement(row[0], row[1][0], row[1][1], int(row[1][2]))
        else:
            yield DataError(stream.name, "a score that is a whole number", row[1][2], row[0])


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
