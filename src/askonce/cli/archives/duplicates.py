"""``askonce duplicates``: find questions that were asked twice but not marked."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer
from typer import Option

from askonce.cli.options import ArchiveLocation, IndexAddress, JsonFlag, WorkFolder, is_stdout
from askonce.cli.output import number_of, write_json

if TYPE_CHECKING:
    from askonce.engine.duplicates import FoundDuplicate
    from askonce.types import Post

HEADER = ("confidence", "calibrated", "id", "title", "other_id", "other_title")


def duplicates(
    archive: ArchiveLocation,
    out: Annotated[Path | None, Option(help="CSV file to write; - is stdout, the default.")] = None,
    least: Annotated[float, Option(min=0, max=1, help="Minimum confidence of a pair.")] = 0.5,
    newest: Annotated[
        int | None, Option(min=1, help="Check only this many of the newest questions.")
    ] = None,
    limit: Annotated[int | None, Option(min=1, help="Write only this many pairs.")] = None,
    index: IndexAddress = None,
    folder: WorkFolder = None,
    json: JsonFlag = False,
) -> None:
    """List unmarked duplicates as CSV, highest confidence first.

    The confidence is the calibrated probability if a trained model is in service. Otherwise it is
    the other question's BM25 score as a share of the question's own, and `calibrated` is 0.
    """
    from rich.console import Console
    from rich.progress import track

    from askonce.engine import Engine
    from askonce.engine.duplicates import find_duplicates

    console = Console(stderr=True)
    with Engine.open(archive, index=index, folder=folder) as engine:
        total = engine.archive.counts()["questions"]
        posts: Iterator[Post] = engine.archive.iterate("question")
        if newest is not None:
            total, posts = min(newest, total), iter(engine.archive.newest(newest))
        pairs = track(
            find_duplicates(engine, posts, least),
            "comparing questions",
            total,
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        likely = [pair for pair in pairs if pair is not None]
    likely.sort(key=lambda pair: (-pair.confidence, pair.question.id))
    shown = likely[:limit]
    if json:
        write_json([dict(zip(HEADER, _row(pair), strict=True)) for pair in shown], out)
    else:
        _write(shown, out)
    first = f"{len(shown):,} of " if len(shown) < len(likely) else ""
    counted = number_of(len(likely), "likely duplicate")
    typer.echo(f"{first}{counted} among {number_of(total, 'question')}", err=True)


def _write(pairs: "list[FoundDuplicate]", out: Path | None) -> None:
    import csv

    opened: AbstractContextManager[TextIO] = (
        nullcontext(sys.stdout)
        if out is None or is_stdout(out)
        else out.open("w", encoding="utf-8", newline="")
    )
    with opened as stream:
        writer = csv.writer(stream)
        writer.writerow(HEADER)
        for pair in pairs:
            confidence, *rest = _row(pair)
            writer.writerow((f"{confidence:.4f}", *rest))
        stream.flush()


def _row(pair: "FoundDuplicate") -> tuple[object, ...]:
    ends = (pair.question.id, pair.question.title, pair.other.id, pair.other.title)
    return (round(pair.confidence, 4), int(pair.calibrated), *ends)
