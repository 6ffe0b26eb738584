"""Export a whole archive to files that other tools read and that import back unchanged."""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

from askonce.archive.store import Archive
from askonce.data.formats.beir import document, write_judgements
from askonce.data.formats.jsonl import write_objects
from askonce.data.formats.posts import to_json, write_posts
from askonce.errors import AskonceError
from askonce.types import Link, LinkKind, Post

Format = Literal["jsonl", "beir"]


def export(archive: Archive, path: Path, form: Format = "jsonl") -> None:
    """Write all posts and links to a new file or folder.

    ``jsonl`` is one file, gzipped if its name ends in .gz. ``beir`` is a folder: every post is a
    document with its forum data as metadata; questions with answers or links are queries too;
    ``qrels`` has a table for answers (2 for accepted ones) and for each kind of link.
    """
    if path.exists():
        raise AskonceError(f"{str(path)!r} exists; name a new path")
    try:
        if form == "beir":
            _write_beir(archive, path)
        else:
            write_posts(path, _records(archive))
    except OSError as error:
        raise AskonceError(f"cannot write {str(path)!r}: {error.strerror}") from None


def json_lines(archive: Archive) -> Iterator[str]:
    """All posts and links as the lines of a JSONL file."""
    return (json.dumps(to_json(record), ensure_ascii=False) + "\n" for record in _records(archive))


def _records(archive: Archive) -> Iterator[Post | Link]:
    return chain(archive.iterate(html=True), archive.links())


def _write_beir(archive: Archive, folder: Path) -> None:
    (folder / "qrels").mkdir(parents=True)
    asking = {link.source for link in archive.links()}
    asking |= {post.parent or "" for post in archive.iterate("answer")}
    write_objects(folder / "corpus.jsonl", map(document, archive.iterate(html=True)))
    asked = (post for post in archive.iterate("question") if post.id in asking)
    queries = ({"_id": p.id, "text": p.text, "metadata": {"post": p.id}} for p in asked)
    write_objects(folder / "queries.jsonl", queries)
    answers = ((a.parent or "", a.id, 1 + a.accepted) for a in archive.iterate("answer"))
    write_judgements(folder / "qrels" / "answer.tsv", answers)
    for kind in get_args(LinkKind):
        pairs = ((link.source, link.target, 1) for link in archive.links(kind))
        write_judgements(folder / "qrels" / f"{kind}.tsv", pairs)
