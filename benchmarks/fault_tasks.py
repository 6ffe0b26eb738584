"""What the processes do that are killed: make an archive, write to it, serve it, run commands."""

import http.client
import json
import os
import socket
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import numpy as np
import uvicorn
from fault_processes import SLOWEST
from fault_truth import WORDS, Op, Truth

from askonce import cli, ranker_folder, server
from askonce.archive import Archive
from askonce.archive.database import FILE
from askonce.archive.tables import metadata
from askonce.engine import Engine
from askonce.ranker import Ranker
from askonce.ranking.manifest import Manifest, Serving, new_folder, write_manifest
from askonce.text.lexicon import Lexicon
from askonce.types import SOURCE_FIELDS, Post

PRELOADED = (uvicorn, server, ranker_folder)  # a forked process need not load them again


def prepare(folder: Path, first: Op) -> Truth:
    """Make the archive with its first posts, leave a small untrained encoder, index both."""
    with closing(Archive.open(folder, create=True)) as archive:
        archive.write(first.posts)
    lexicon = Lexicon.build([Post("w", title=" ".join(WORDS))])
    table = np.random.default_rng(1).normal(0, 0.1, (len(lexicon.vocabulary), 16))
    home = new_folder(folder)
    Ranker.create("hyperqa", lexicon, table.astype(np.float32), {"dim": 16}).save(home / "encoder")
    serving = Serving("encoder", weights={"bm25": 1.0, "vectors": 0.5})
    write_manifest(home, Manifest("2026-01-01T00:00:00+00:00", serving, serving))
    with Engine.open(folder) as engine:
        return Truth.of(engine.archive)


def downgrade(folder: Path) -> bool:
    """Make the archive one of format 1, which has no marks; True to say that it is done."""
    with closing(sqlite3.connect(folder / FILE)) as connection:
        for table in metadata.tables.keys() - {"state", "posts", "links", "revisions"}:
            connection.execute(f"DROP TABLE {table}")
        for column in SOURCE_FIELDS:
            connection.execute(f"ALTER TABLE posts DROP COLUMN {column}")
        connection.execute("UPDATE state SET format = 1")
        connection.commit()
    return True


def command(journal: int, *words: object) -> None:
    """The command of the program."""
    sys.argv = ["askonce", *map(str, words)]
    cli.main()


def write_all(target: Engine | Archive, plan: Sequence[Op], journal: int) -> None:
    """Write one after the other, and tell of each that was acknowledged."""
    for op in plan:
        apply(target, op)
        os.write(journal, b".")
    target.close()


def apply(target: Engine | Archive, op: Op) -> None:
    """One write."""
    if op.posts or op.links:
        target.write(op.posts, op.links)
    if op.gone:
        target.delete(op.gone)
    if op.unlinked:
        target.remove_links(op.unlinked)
    if op.mark is not None:
        (target.archive if isinstance(target, Engine) else target).feedback.add(op.mark)


def write_over_http(port: int, server: int, plan: Sequence[Op], journal: int) -> None:
    """The same through a server, as soon as it takes writes, until its process is gone."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SLOWEST)
    while not answered(connection, "GET", "/readyz", None):
        if not exists(server):  # killed before it was ready
            return
        time.sleep(0.01)
    for op in plan:
        fields = [asdict(post).items() for post in op.posts]
        posts = [{name: value for name, value in one if value is not None} for one in fields]
        links = [asdict(link) for link in op.links]
        body: dict[str, object] = {"posts": posts, "links": links}
        path, body = ("/delete", {"ids": op.gone}) if op.gone else ("", body)
        if not answered(connection, "POST", f"/api/posts{path}", json.dumps(body)):
            return
        os.write(journal, b".")


def exists(number: int) -> bool:
    """Whether a process is there and not yet waited for."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def answered(
    connection: http.client.HTTPConnection, method: str, path: str, body: str | None
) -> bool:
    """Whether a request is answered with a success."""
    try:
        connection.request(method, path, body, {"content-type": "application/json"})
        response = connection.getresponse()
        content = response.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return False
    if response.status in (200, 201):
        return True
    if response.status != 503:
        raise SystemExit(f"{path}: {response.status} {content!r}")
    return False


def free_port() -> int:
    """A free port."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
