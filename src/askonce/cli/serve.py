"""``askonce serve``: the page and the HTTP API of an archive."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
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

DRAIN_SECONDS = 30  # for running requests after SIGTERM
KEEP_ALIVE_SECONDS = 75  # longer than a proxy's, so that the proxy closes first
HEADER_BYTES = 128 * 1024  # fits the longest question, percent-encoded in the URL
PROGRESS_SECONDS = 5.0  # between two lines about the same progress
PUBLIC_RATE = 50.0  # requests per second and address, if other machines can connect


def command(
    archive: ArchivePlace,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; 0.0.0.0 for all.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; 0 picks a free one.")
    ] = 8080,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            min=1,
            help="Number of worker threads. Default: one per core.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            min=0,
            help="Requests per second and client; 0 for no limit. Default: "
            f"{PUBLIC_RATE:g}, or no limit on loopback.",
            show_default=False,
        ),
    ] = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option(
            "--api-key-file",
            help="File with lines 'write KEY' or 'read KEY', in addition to ASKONCE_API_KEY and "
            "ASKONCE_READ_KEY.",
        ),
    ] = None,
    allow_open_writes: Annotated[
        bool,
        typer.Option("--allow-open-writes", help="Let anyone who can reach the server write."),
    ] = False,
    index: IndexAddress = None,
    folder: WorkFolder = None,
) -> None:
    """Serve an archive: a page to ask questions, and an HTTP API to ask, add, edit and delete."""
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
        typer.echo(
            f"Serving {engine.archive.name} at {address_of(listener)} (press Ctrl-C to stop)"
        )
        _serve(app, engine, listener)


def _keys(host: str, file: Path | None, allow_open_writes: bool) -> "Keys":
    from askonce.server.guard.keys import WRITE_KEY, is_loopback, read_keys

    keys = read_keys(os.environ, file)
    if not keys.write and not is_loopback(host) and not allow_open_writes:
        raise AskonceError(
            f"anyone who can reach {host} could write; set {WRITE_KEY}, or allow it with "
            "--allow-open-writes"
        )
    return replace(keys, local_writes=is_loopback(host), open_writes=allow_open_writes)


def _engine(address: str, index: str | None, folder: Path | None) -> "Engine":
    """An engine that owns the indexes of the archive, not started yet."""
    from askonce.archive import open_archive
    from askonce.engine import Engine

    archive = open_archive(address, folder)
    engine = Engine(archive, _Messages(), index)
    try:
        engine.need_indexes()
    except AskonceError:
        engine.close()
        raise
    return engine


def _serve(app: "FastAPI", engine: "Engine", listener: socket.socket) -> None:
    """Listen at once, open the indexes in the background, drain running requests at the end."""
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,  # no access log: URLs contain questions
            access_log=False,
            server_header=False,
            ws="none",
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            h11_max_incomplete_event_size=HEADER_BYTES,
        )
    )
    failed: list[Exception] = []
    opening = threading.Thread(target=_start, args=(engine, server, failed), daemon=True)
    # uvicorn raises the signal again after the drain; then it only has to end this function
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    opening.start()
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        typer.echo("stopping", err=True)
    opening.join(1)  # the next start completes a partly built index
    if failed:
        raise failed[0]


def _start(engine: "Engine", server: "uvicorn.Server", failed: list[Exception]) -> None:
    try:
        engine.start(background=True)
        typer.echo(f"ready: searching {engine.status().posts:,} posts", err=True)
    except Exception as error:  # raised again by the main thread
        failed.append(error)
        server.should_exit = True


class _Messages:
    """Print the engine's events on stderr, repeated ones at most once in a few seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._text, self._printed = "", 0.0

    def __call__(self, event: "Event") -> None:
        now = self._clock()
        if event.text != self._text or now - self._printed >= PROGRESS_SECONDS:
            self._text, self._printed = event.text, now
            typer.echo(str(event), err=True)
