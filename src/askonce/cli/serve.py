"""``askonce serve``: the page and the HTTP interface of an archive."""

import os
import signal
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askonce.cli.ask import ArchivePlace, IndexAddress, WorkFolder
from askonce.errors import AskonceError

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from askonce.engine import Engine
    from askonce.engine.lifecycle.following import Event
    from askonce.server import Keys

DRAIN = 30  # seconds that requests have to finish after SIGTERM
KEEP = 75  # seconds that an idle connection stays; longer than a proxy's, so that it closes first
HEADERS_BYTES = 128 * 1024  # the longest question as an address, percent signs and all
PAUSE = 5.0  # seconds between two messages that differ in numbers only
PUBLIC_RATE = 50.0  # requests per second of one address, where strangers can call


def command(
    archive: ArchivePlace,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; 0.0.0.0 is every one.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")
    ] = 8080,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            min=1,
            help="Questions worked on at the same time. Unless given: one per core.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            min=0,
            help="Requests per second of one client; 0 is no limit. Unless given: "
            f"{PUBLIC_RATE:g}, none on loopback.",
            show_default=False,
        ),
    ] = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option(
            "--api-key-file",
            help="Lines 'write KEY' or 'read KEY', beside ASKONCE_API_KEY and ASKONCE_READ_KEY.",
        ),
    ] = None,
    allow_open_writes: Annotated[
        bool,
        typer.Option("--allow-open-writes", help="Let everybody who reaches the server write."),
    ] = False,
    index: IndexAddress = None,
    folder: WorkFolder = None,
) -> None:
    """Serve an archive: a page to ask at, and an HTTP interface to ask, add, edit and delete."""
    from askonce.server.guard.keys import is_loopback
    from askonce.server.listening import address_of, listen

    keys = _keys(host, api_key_file, allow_open_writes)
    with listen(host, port) as listener, _engine(archive, index, folder) as engine:
        from askonce.server import ServerSettings, create_app

        settings = ServerSettings(
            threads=threads or os.cpu_count() or 1,
            rate=(0.0 if is_loopback(host) else PUBLIC_RATE) if rate is None else rate,
            keys=keys,
        )
        app = create_app(engine, settings)
        typer.echo(f"{engine.archive.name} at {address_of(listener)} (Ctrl-C ends)")
        _serve(app, engine, listener)


def _keys(host: str, file: Path | None, allow_open_writes: bool) -> "Keys":
    from askonce.server.guard.keys import WRITE_KEY, is_loopback, read_keys

    keys = read_keys(os.environ, file)
    if not keys.write and not is_loopback(host) and not allow_open_writes:
        raise AskonceError(
            f"everybody who reaches {host} could write; set {WRITE_KEY}, or say that you want it "
            "with --allow-open-writes"
        )
    return replace(keys, local_writes=is_loopback(host), open_writes=allow_open_writes)


def _engine(place: str, index: str | None, folder: Path | None) -> "Engine":
    """The engine of an archive whose indexes are ours alone, not started yet."""
    from askonce.archive import open_archive
    from askonce.engine import Engine

    archive = open_archive(place, folder)
    engine = Engine(archive, archive.folder, _Messages(), index)
    try:
        engine.need_indexes()
    except AskonceError:
        engine.close()
        raise
    return engine


def _serve(app: "FastAPI", engine: "Engine", listener: socket.socket) -> None:
    """Listen at once, open the indexes beside it, end after the requests in work are done."""
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,  # no access log: addresses hold questions
            access_log=False,
            server_header=False,
            ws="none",
            timeout_keep_alive=KEEP,
            timeout_graceful_shutdown=DRAIN,
            h11_max_incomplete_event_size=HEADERS_BYTES,
        )
    )
    failed: list[Exception] = []
    opening = threading.Thread(target=_start, args=(engine, server, failed), daemon=True)
    # uvicorn raises the signal again when all is done; by then it only has to end this function
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    opening.start()
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        typer.echo("stopping", err=True)
    opening.join(1)  # an index that is half made is caught up with at the next start
    if failed:
        raise failed[0]


def _start(engine: "Engine", server: "uvicorn.Server", failed: list[Exception]) -> None:
    try:
        engine.start(background=True)
        typer.echo(f"ready: {engine.status().posts:,} posts", err=True)
    except Exception as error:  # raised again by the thread that waits
        failed.append(error)
        server.should_exit = True


class _Messages:
    """Prints the engine's events on stderr; repeated ones only now and then."""

    def __init__(self) -> None:
        self._last, self._when = "", 0.0

    def __call__(self, event: "Event") -> None:
        now = time.monotonic()
        if event.text != self._last or now - self._when >= PAUSE:
            self._last, self._when = event.text, now
            typer.echo(str(event), err=True)
