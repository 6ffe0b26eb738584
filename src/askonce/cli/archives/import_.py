"""``askonce import`` and ``export``: a forum's dump into an archive, an archive into files."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from typer import Argument, Option

from askonce.cli.options import JsonFlag, MappingFile, is_stdout
from askonce.cli.output import console, number_of, show, write_json
from askonce.cli.progress import bar, progress
from askonce.errors import AskonceError, ConfigError

if TYPE_CHECKING:
    from askonce.archive import Archive, Summary
    from askonce.data.forums import Source

SHOWN = 5  # damaged records to print


def import_(
    form: Annotated[
        str,
        Argument(
            metavar="FORMAT",
            help="stackexchange, discourse, github, zendesk, mbox, question2answer, phpbb, mapped, "
            "jsonl, csv, beir or insuranceqa (the demo).",
        ),
    ],
    into: Annotated[
        str, Option(help="The archive: a folder, created if missing, or a postgresql:// address.")
    ],
    path: Annotated[
        Path | None, Argument(help="The dump: a file or folder. Not for insuranceqa.")
    ] = None,
    strict: Annotated[bool, Option("--strict", help="Stop at the first damaged record.")] = False,
    columns: Annotated[
        str, Option(help="For CSV: field=Column pairs, such as title=Subject,body=Text.")
    ] = "",
    mapping: MappingFile = None,
    site: Annotated[
        str | None,
        Option(help="The forum's name or address, such as bikes.example, for links to its posts."),
    ] = None,
    code: Annotated[bool, Option(help="Include code blocks in the searchable text.")] = True,
    json: JsonFlag = False,
) -> None:
    """Import a forum; run it again to update the archive.

    Damaged records are counted, listed and skipped.
    """
    from askonce.archive import Archive, load
    from askonce.archive.database import is_address, without_password
    from askonce.archive.desk.options import IMPORTING
    from askonce.data.forums import IMPORTERS, Source

    name = IMPORTERS.resolve(form)
    for option, given, only in (("--columns", columns, "csv"), ("--map", mapping, "mapped")):
        if given and name != only:
            raise ConfigError(f"{option} is for {only}, not for {name}")
    source = Source(path, _column_map(columns), site, mapping, code)
    start = time.perf_counter()
    records = IMPORTERS[name](source)
    first = list(islice(records, 1))  # report a wrong path before creating an archive
    new = not is_address(into) and not Path(into).exists()
    archive = Archive.open(into, create=True)
    if archive.options.get(IMPORTING):
        typer.echo("note: completing an import that was interrupted", err=True)
    archive.options.set(IMPORTING, {"format": name, "path": str(path) if path else None})
    with _marked(archive, new), _progress(source) as on_progress:
        summary = load(archive, chain(first, records), on_progress, strict)
    seconds = time.perf_counter() - start
    into = without_password(into)
    result = {"archive": into, "format": name, **asdict(summary), "change": archive.change}
    result |= {"seconds": round(seconds, 3), "posts_per_s": round(summary.posts / seconds)}
    removed = _remove_empty(archive, new)
    if json:
        write_json(result)
    else:
        _show(into, summary, seconds)
    if removed:
        typer.echo(f"nothing was imported, so {into} was not made", err=True)
    if removed or (summary.damaged and not summary.posts):
        raise typer.Exit(1)


@contextmanager
def _marked(archive: "Archive", new: bool) -> Iterator[None]:
    """Take the mark of a running import off, unless it is interrupted."""
    from askonce.archive.desk.options import IMPORTING

    try:
        yield
    except KeyboardInterrupt:
        typer.echo("note: run the same command to complete the import", err=True)
        raise
    except AskonceError:
        archive.options.set(IMPORTING, None)  # the same command would fail again
        _remove_empty(archive, new)
        raise
    archive.options.set(IMPORTING, None)


def _remove_empty(archive: "Archive", new: bool) -> bool:
    """Close an archive; one that this import made is removed if nothing is in it."""
    counts = archive.counts()
    folder = archive.folder if new and not counts["questions"] + counts["answers"] else None
    archive.close()
    if folder is not None:
        shutil.rmtree(folder)
    return folder is not None


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
def _progress(source: "Source") -> Iterator[Callable[["Summary"], None]]:
    """A progress bar with the speed, on stderr."""
    start = time.perf_counter()

    def on_progress(summary: "Summary") -> None:
        speed = summary.posts / (time.perf_counter() - start)
        damaged = f", {summary.damaged:,} damaged" * bool(summary.damaged)
        update(description=f"{summary.posts:,} posts, {speed:,.0f}/s{damaged}")

    with bar("reading", "Bar", "TimeElapsed") as (_, update):
        source.moved = lambda source: update(completed=source.done, total=source.size or None)
        yield on_progress


def _show(into: str, summary: "Summary", seconds: float) -> None:
    posts = ", ".join(f"{getattr(summary, what):,} {what}" for what in ("added", "changed"))
    links = number_of(summary.links, "link")
    if summary.unknown_links:
        links += f" ({summary.unknown_links:,} more to unknown questions)"
    if summary.circular_links:
        links += f" ({summary.circular_links:,} circular ones left out)"
    counts = f"{posts}, {summary.unchanged:,} unchanged; {links}"
    console().print(f"{into}: {counts}; {seconds:.1f} s", markup=False)
    if summary.damaged:
        skipped = number_of(summary.damaged, "damaged record")
        typer.echo(f"skipped {skipped}:", err=True)
        for example in summary.examples[:SHOWN]:
            typer.echo(f"  {example}", err=True)


def export(
    archive: Annotated[str, Argument(help="A folder that `askonce import` made.")],
    out: Annotated[
        Path, Option(help="The file or folder to write; must be new. - is stdout, for jsonl.")
    ],
    form: Annotated[
        str, Option("--format", help="jsonl (gzipped if the name ends in .gz) or beir.")
    ] = "jsonl",
    json: JsonFlag = False,
) -> None:
    """Write all posts and links as JSONL or as a BEIR folder; `askonce import` reads both."""
    from askonce.archive import open_archive
    from askonce.archive.database import without_password
    from askonce.archive.export import Format, export, json_lines
    from askonce.registry import nearest

    if form not in get_args(Format):
        raise ConfigError(f"no format {form!r}; {nearest(form, get_args(Format))}")
    if is_stdout(out) and form != "jsonl":
        raise ConfigError(f"--out -: {form} is a folder; stdout takes jsonl")
    opened = open_archive(archive)
    counts = opened.counts()
    parts = [number_of(counts[f"{noun}s"], noun) for noun in ("question", "answer")]
    wrote = f"wrote {' and '.join(parts)}"
    if is_stdout(out):
        sys.stdout.writelines(json_lines(opened))
        sys.stdout.flush()
        typer.echo(wrote, err=True)
        return
    with progress(f"writing {out}"):
        export(opened, out, form)  # type: ignore[arg-type]
    named = without_password(archive)
    result = {"archive": named, "format": form, "out": str(out), **counts}
    show(result, json, f"{wrote} to {out}")
