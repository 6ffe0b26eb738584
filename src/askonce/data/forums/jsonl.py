"""JSONL: one question, answer or link per line; what `askonce export` writes."""

from collections.abc import Iterator

from askonce.data.formats.jsonl import json_objects
from askonce.data.formats.posts import from_json
from askonce.data.forums import IMPORTERS, Imported, Source, converted


@IMPORTERS.add("jsonl", "json-lines")
def read(source: Source) -> Iterator[Imported]:
    """A JSONL file of posts and links, .gz or not; the format that `askonce export` writes.

    A post has ``id``, ``kind`` (question or answer), ``title``, ``body`` or ``html``, and may have
    ``parent``, ``score``, ``accepted``, ``tags``, ``created``, ``url``, ``author``,
    ``author_url``, ``site``, ``licence``. A link has the kind ``link``,
    ``source``, ``target``, and ``link`` (duplicate or related).
    """
    path = source.need_file("a JSONL file")
    source.expect(path)
    with source.open(path) as stream:
        yield from converted(json_objects(stream), lambda row: [from_json(row, source.code)])
