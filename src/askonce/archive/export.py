"""Write a whole archive as files that other tools read, and that import back as they were."""

import gzip
import json
from collections.abc import Iterable
from dataclasses import MISSING, asdict, fields
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

from askonce.archive.store import Archive
from askonce.errors import AskonceError
from askonce.files import replacing
from askonce.types import Link, LinkKind, Post

Format = Literal["jsonl", "beir"]
Object = dict[str, Any]
_DEFAULTS = {f.name: f.default for f in fields(Post) if f.default is not MISSING}
_HEADER = ("query-id", "corpus-id", "score")


def export(archive: Archive, place: Path, form: Format = "jsonl") -> None:
    """Write all posts and links; the place must be new.

    ``jsonl`` is one file, packed if its name ends in .gz. ``beir`` is a folder: every post is a
    document with what the forum knows of it as metadata; the questions that have answers or links
    are queries too; ``qrels`` has a table for answers (2 for accepted ones) and for each link kind.
    """
    if place.exists():
        raise AskonceError(f"{str(place)!r} exists; name a new place")
    try:
        if form == "beir":
            _write_beir(archive, place)
        else:
            posts = map(_record, archive.iterate(html=True))
            _write_lines(place, chain(posts, map(_link, archive.links())))
    except OSError as error:
        raise AskonceError(f"cannot write {str(place)!r}: {error.strerror}") from None


def _record(post: Post) -> Object:
    """A post as a line, without what is as always."""
    values = {name: value for name, value in asdict(post).items() if value != _DEFAULTS.get(name)}
    if post.html:  # or the reader would make a body of it
        values["body"] = post.body
    return {"id": post.id, "kind": post.kind, **values}


def _link(link: Link) -> Object:
    return {"kind": "link", "source": link.source, "target": link.target, "link": link.kind}


def _write_beir(archive: Archive, folder: Path) -> None:
    (folder / "qrels").mkdir(parents=True)
    asking = {link.source for link in archive.links()}
    asking |= {post.parent or "" for post in archive.iterate("answer")}
    _write_lines(folder / "corpus.jsonl", map(_document, archive.iterate(html=True)))
    queries = (_query(post) for post in archive.iterate("question") if post.id in asking)
    _write_lines(folder / "queries.jsonl", queries)
    answers = ((a.parent, a.id, 1 + a.accepted) for a in archive.iterate("answer"))
    _write_judgements(folder / "qrels" / "answer.tsv", answers)
    for kind in get_args(LinkKind):
        pairs = ((link.source, link.target, 1) for link in archive.links(kind))
        _write_judgements(folder / "qrels" / f"{kind}.tsv", pairs)


def _document(post: Post) -> Object:
    metadata = _record(post)
    for name in ("id", "title", "body"):
        metadata.pop(name, None)
    return {"_id": post.id, "title": post.title, "text": post.body, "metadata": metadata}


def _query(post: Post) -> Object:
    return {"_id": post.id, "text": post.text, "metadata": {"post": post.id}}


def _write_judgements(path: Path, rows: Iterable[tuple[str | None, str, int]]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for row in chain([_HEADER], rows):
            stream.write("\t".join(map(str, row)) + "\n")


def _write_lines(path: Path, records: Iterable[Object]) -> None:
    """JSON lines; a file of this name is there only once all of them are."""
    open_text = gzip.open if path.suffix == ".gz" else open
    with replacing(path) as part, open_text(part, "wt", encoding="utf-8") as stream:
        for record in records:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
