"""``askonce duplicates``: questions that were asked twice and never marked as duplicates."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askonce.cli.ask import ArchivePlace, IndexAddress, WorkFolder

if TYPE_CHECKING:
    from askonce.engine.duplicates import FoundDuplicate
    from askonce.types import Post

HEADER = ("confidence", "calibrated", "id", "title", "other_id", "other_title")


def command(
    archive: ArchivePlace,
    out: Annotated[
        Path | None, typer.Option("--out", help="CSV file to write; without it, stdout.")
    ] = None,
    least: Annotated[
        float, typer.Option("--least", min=0, max=1, help="Report pairs from this confidence on.")
    ] = 0.5,
    newest: Annotated[
        int | None, typer.Option("--newest", min=1, help="Check only this many newest questions.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Write only this many pairs.")
    ] = None,
    index: IndexAddress = None,
    folder: WorkFolder = None,
) -> None:
    """Find unmarked duplicates in bulk, most confident first, as CSV.

    The confidence is the calibrated probability where a trained model serves. Otherwise it is the
    BM25 score of the other question as a share of the question's own, and `calibrated` is 0.
    """
    from rich.console import Console
    from rich.progress import track

    from askonce.engine import Engine
    from askonce.engine.duplicates import find_duplicates

    with Engine.open(archive, index=index, folder=folder) as engine:
        total = engine.archive.counts()["questions"]
        posts: Iterator[Post] = engine.archive.iterate("question")
        if newest is not None:
            total, posts = min(newest, total), iter(engine.archive.newest(newest))
        pairs = track(
            find_duplicates(engine, posts, least),
            "comparing questions",
            total,
            console=Console(stderr=True),
            transient=True,
        )
        found = [pair for pair in pairs if pair is not None]
    found.sort(key=lambda pair: (-pair.confidence, pair.question.id))
    _write(found[:limit], out)
    typer.echo(f"{len(found):,} likely duplicates among {total:,} questions", err=True)


def _write(pairs: "list[FoundDuplicate]", out: Path | None) -> None:
    import csv

    stream = out.open("w", encoding="utf-8", newline="") if out is not None else sys.stdout
    try:
        writer = csv.writer(stream)
        writer.writerow(HEADER)
        for pair in pairs:
            ends = (pair.question.id, pair.question.title, pair.other.id, pair.other.title)
            writer.writerow((f"{pair.confidence:.4f}", int(pair.calibrated), *ends))
    finally:
        if out is not None:
            stream.close()
