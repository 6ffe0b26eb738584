"""JSONL: one JSON object per line."""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from askonce.data.formats import Record
from askonce.errors import DataError
from askonce.files import Stream, open_stream, raise_errors, replacing


def json_objects(stream: Stream, may_be_empty: bool = False) -> Iterator[Record | DataError]:
    """The objects of a file; blank lines are skipped."""
    is_empty = True
    for item in stream.texts():
        is_empty = False
        if isinstance(item, DataError):
            yield item
        elif text := item[1].strip():
            try:
                yield json_object(stream.name, text, item[0])
            except DataError as error:
                yield error
    if is_empty and not may_be_empty:
        raise DataError(stream.name, "at least one line", "an empty file")


def read_objects(path: Path, may_be_empty: bool = False) -> Iterator[Record]:
    with open_stream(path) as stream:
        yield from raise_errors(json_objects(stream, may_be_empty))


def json_object(path: Path, text: str, line: int | None = None) -> Record:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise DataError(path, "a JSON object", text, line) from None
    if not isinstance(value, dict):
        raise DataError(path, "a JSON object", value, line)
    return Record(path, line, value)


def write_objects(path: Path, objects: Iterable[Mapping[str, Any]]) -> None:
    """Write a JSONL file atomically, gzipped if its name ends in ``.gz``."""
    open_text = gzip.open if path.suffix == ".gz" else open
    with (
        replacing(path) as part,
        # half a surrogate pair, which UTF-8 cannot hold, becomes JSON's own escape
        open_text(part, "wt", encoding="utf-8", errors="backslashreplace") as stream,
    ):
        stream.writelines(json.dumps(value, ensure_ascii=False) + "\n" for value in objects)


def json_documents(stream: Stream, longest: int) -> Iterator[Record | DataError]:
    """The objects of a JSON file: the one it holds, or those of its list.

    A file whose name says that it has one object per line is read line by line.
    """
    if stream.name.name.removesuffix(".gz").endswith((".jsonl", ".ndjson")):
        yield from json_objects(stream)
        return
    chunks, size = [], 0
    for chunk in stream.chunks():
        chunks.append(chunk)
        size += len(chunk)
        if size > longest:
            raise DataError(
                stream.name, f"a JSON file of at most {longest:,} bytes", "a longer one"
            )
    yield from stream.flaws()
    try:
        value = json.loads(b"".join(chunks).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        yield DataError(stream.name, "JSON", str(error))
        return
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield Record(stream.name, None, item)
        else:
            yield DataError(stream.name, "JSON objects", item)
