"""``askonce import``: load a forum's dump into an archive."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askonce.cli.output import JsonFlag, console, write_json
from askonce.errors import ConfigError

if TYPE_CHECKING:
    from askonce.archive import Summary
    from askonce.data.forums import Source

SHOWN = 5  # damaged records to print


def command(
    form: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT", help="stackexchange, jsonl, csv, beir or insuranceqa (the demo)."
        ),
    ],
    into: Annotated[
        str,
        typer.Option(
            help="The archive: a folder, created if missing, or a postgresql:// address.",
            show_default=False,
        ),
    ],
    path: Annotated[
        Path | None,
        typer.Argument(help="The dump: a file or folder. Not for insuranceqa.", show_default=False),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first damaged record.")
    ] = False,
    columns: Annotated[
        str,
        typer.Option(
            help="For CSV: field=Column pairs, such as title=Subject,body=Text.",
            show_default=False,
        ),
    ] = "",
    code: Annotated[bool, typer.Option(help="Include code blocks in the searchable text.")] = True,
    json: JsonFlag = False,
) -> None:
    """Import a forum; run it again to update the archive.

    Damaged records are counted, listed and skipped.
    """
    from askonce.archive import Archive, load
    from askonce.archive.database import without_password
    from askonce.data.forums import IMPORTERS, Source

    name = IMPORTERS.resolve(form)
    if columns and name != "csv":
        raise ConfigError(f"--columns is for csv, not for {name}")
    source = Source(path, columns=_column_map(columns), code=code)
    start = time.perf_counter()
    records = IMPORTERS[name](source)
    first = list(islice(records, 1))  # report a wrong path before creating an archive
    archive = Archive.open(into, create=True)
    with _bar(source) as on_progress:
        summary = load(archive, chain(first, records), on_progress, strict)
    seconds = time.perf_counter() - start
    into = without_password(into)
    result = {"archive": into, "format": name, **asdict(summary), "change": archive.change}
    result |= {"seconds": round(seconds, 3), "posts_per_s": round(summary.posts / seconds)}
    archive.close()
    if json:
        write_json(result)
    else:
        _show(into, summary, seconds)


def _column_map(text: str) -> dict[str, str]:
    """The pairs of ``field=Column,field=Column``."""
    columns = {}
    for pair in filter(None, text.split(",")):
        field, equals, column = (part.strip() for part in pair.partition("="))
        if not (field and equals and column):
            raise ConfigError(
                f"--columns has {pair!r}; expected field=Column, such as title=Subject"
            )
        columns[field] = column
    return columns


@contextmanager
def _bar(source: "Source") -> Iterator[Callable[["Summary"], None]]:
    """A progress bar with the speed, on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    start = time.perf_counter()
    text = TextColumn("{task.description}")
    bar = Progress(text, BarColumn(), TimeElapsedColumn(), console=Console(stderr=True))
    with bar:
        task = bar.add_task("reading", total=None)

        def moved(source: "Source") -> None:
            bar.update(task, completed=source.done, total=source.size or None)

        def on_progress(summary: "Summary") -> None:
            speed = summary.posts / (time.perf_counter() - start)
            text = f"{summary.posts:,} posts, {speed:,.0f}/s"
            bar.update(
                task, description=text + f", {summary.damaged:,} damaged" * bool(summary.damaged)
            )

        source.moved = moved
        yield on_progress


def _show(into: str, summary: "Summary", seconds: float) -> None:
    posts = ", ".join(f"{getattr(summary, what):,} {what}" for what in ("added", "changed"))
    links = f"{summary.links:,} links"
    if summary.unknown_links:
        links += f" ({summary.unknown_links:,} more to unknown questions)"
    counts = f"{posts}, {summary.unchanged:,} unchanged; {links}"
    console().print(f"{into}: {counts}; {seconds:.1f} s", markup=False)
    if summary.damaged:
        typer.echo(f"{summary.damaged:,} damaged records were skipped:", err=True)
        for example in summary.examples[:SHOWN]:
            typer.echo(f"  {example}", err=True)
