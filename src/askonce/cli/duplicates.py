"""``askonce duplicates``: find questions that were asked twice but not marked."""

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
        Path | None, typer.Option("--out", help="CSV file to write. Default: stdout.")
    ] = None,
    least: Annotated[
        float, typer.Option("--least", min=0, max=1, help="Minimum confidence of a pair.")
    ] = 0.5,
    newest: Annotated[
        int | None,
        typer.Option("--newest", min=1, help="Check only this many of the newest questions."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Write only this many pairs.")
    ] = None,
    index: IndexAddress = None,
    folder: WorkFolder = None,
) -> None:
    """List unmarked duplicates as CSV, highest confidence first.

    The confidence is the calibrated probability if a trained model is in service. Otherwise it is
    the other question's BM25 score as a share of the question's own, and `calibrated` is 0.
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
        likely = [pair for pair in pairs if pair is not None]
    likely.sort(key=lambda pair: (-pair.confidence, pair.question.id))
    _write(likely[:limit], out)
    typer.echo(f"{len(likely):,} likely duplicates among {total:,} questions", err=True)


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
