"""``askonce sync``: keep an archive up to date with a forum."""

import os
import signal
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from askonce.cli.options import JsonFlag, MappingFile
from askonce.cli.output import console, number_of, write_json
from askonce.cli.progress import progress
from askonce.errors import AskonceError, ConfigError

if TYPE_CHECKING:
    from askonce.sync import SyncSummary

TOKEN = "ASKONCE_SYNC_TOKEN"


def sync(
    archive: Annotated[
        str, Argument(help="The archive: a folder, created if missing, or postgresql://….")
    ],
    source: Annotated[str, Argument(help="A file, a folder, or the https://… address of a forum.")],
    form: Annotated[
        str,
        Option(
            "--format",
            help="Of a file: as for `askonce import`. Of an address: changes, discourse, github or "
            "zendesk.",
            show_default="jsonl, or changes",
        ),
    ] = "",
    every: Annotated[
        float | None,
        Option("--every", min=1, help="Seconds between passes; else one pass.", show_default=False),
    ] = None,
    full: Annotated[
        bool,
        Option("--full", help="Read everything again, to find deleted posts."),
    ] = False,
    rate: Annotated[float, Option("--rate", min=0.01, help="Requests per second at most.")] = 2.0,
    site: Annotated[
        str | None,
        Option(help="The forum's name or address, for links.", show_default=False),
    ] = None,
    mapping: MappingFile = None,
    json: JsonFlag = False,
) -> None:
    """Bring an archive up to date with its forum: one pass, or a pass --every so often.

    An interrupted pass continues where it stopped. An access token is read from
    ASKONCE_SYNC_TOKEN: a token of GitHub, an API key of Discourse, or EMAIL/token:KEY of Zendesk.
    """
    from askonce.archive import Archive
    from askonce.archive.database import is_address
    from askonce.data.forums import IMPORTERS, Source
    from askonce.sync import sync as synchronise
    from askonce.sync.feeds import TOKEN_HEADERS, feed_of
    from askonce.sync.http import Client

    url = source if is_address(source) else None
    form = form or ("changes" if url else "jsonl")
    form = form if url else IMPORTERS.resolve(form)
    if url:
        feed_of(form)
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"{source!r} is no file and no http:// or https:// address")
    else:
        Source(Path(source)).need_path("the file or folder to follow")
    options = Source(None if url else Path(source), site=site or _site(url, form), mapping=mapping)
    token_header = TOKEN_HEADERS.get(form, "Authorization")
    client = Client(rate, os.environ.get(TOKEN) or None, token_header)
    store = Archive.open(archive, create=True)
    stop = threading.Event()
    if every is not None:
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        while not stop.is_set():
            try:
                with progress("reading") as say:
                    summary = synchronise(
                        store, options, form, url, client, full, lambda s: say(_counts(s))
                    )
                _show(summary, json)
            except AskonceError as error:
                if every is None:
                    raise
                typer.echo(f"askonce: {error}", err=True)
            if every is None:
                return
            stop.wait(every)
    finally:
        client.close()
        store.close()


def _site(url: str | None, form: str) -> str | None:
    return url.rstrip("/") if url and form == "discourse" else None


def _counts(summary: "SyncSummary") -> str:
    return f"{summary.added:,} added, {summary.changed:,} changed, {summary.requests:,} requests"


def _show(summary: "SyncSummary", json: bool) -> None:
    if json:
        write_json(asdict(summary))
        return
    text = (
        f"{summary.added:,} added, {summary.changed:,} changed, {summary.unchanged:,} unchanged, "
        f"{summary.deleted:,} deleted; {number_of(summary.links, 'link')}"
    )
    if summary.waiting:
        text += f"; {summary.waiting:,} answers or links without their question"
    console().print(text, markup=False)
    if summary.damaged:
        reason = "; deletions wait until all can be read" if summary.full else ""
        skipped = number_of(summary.damaged, "damaged record")
        typer.echo(f"skipped {skipped}{reason}:", err=True)
        for example in summary.examples[:5]:
            typer.echo(f"  {example}", err=True)
