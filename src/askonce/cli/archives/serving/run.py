"""Open the archives of ``askonce serve``, run the server, and report what happens."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import typer
from starlette.types import ASGIApp

from askonce.archive import open_archive
from askonce.archive.database import is_address
from askonce.cli.archives.serving.options import MOST_WORKERS, ArchiveOptions, ArchiveToServe
from askonce.engine import Engine
from askonce.engine.lifecycle.following import EngineEvent
from askonce.engine.workers.pool import WorkerPool
from askonce.engine.workers.tuning import tune_process
from askonce.errors import AskonceError
from askonce.server.app import app_of
from askonce.server.batching import query_threads
from askonce.server.guard.connections import ConnectionSettings
from askonce.server.guard.hosts import AllowedHosts
from askonce.server.guard.keys import WRITE_KEY, Keys, origin_of, read_keys
from askonce.server.protocol import Server
from askonce.server.service import ServerSettings, Service, queries_lane
from askonce.server.several.app import create_several_app
from askonce.server.several.members import Member
from askonce.sync.events import Notifier

PROGRESS_SECONDS = 5.0  # between two lines about the same progress
WEBHOOK_SECRET = "ASKONCE_WEBHOOK_SECRET"
WEBHOOK_SECONDS = 5.0  # between two looks at what is new


@dataclass(frozen=True)
class ServedArchives:
    """The application of one archive or of several, and tokens for those without a write key."""

    app: ASGIApp
    members: Sequence[Member]
    tokens: Mapping[str, str] = field(repr=False)

    def text(self, address: str) -> str:
        """What to print at the start."""
        names = [member.name for member in self.members]
        lines = [f"Serving {', '.join(names)} at {address} (press Ctrl-C to stop)"]
        for name, token in self.tokens.items():
            which = f" to {name}" if len(names) > 1 else ""
            lines.append(
                f"Token for writing{which} until the server stops: {token} "
                f"(set {WRITE_KEY} to keep one)"
            )
        return "\n".join(lines)

    def report(self, address: str) -> dict[str, Any]:
        """The same for programs: one archive, or a list of them."""
        if len(self.members) == 1:
            return self._one(self.members[0].name, address)
        archives = [self._one(member.name, f"{address}/{member.name}/") for member in self.members]
        return {"address": address, "archives": archives}

    def _one(self, name: str, address: str) -> dict[str, Any]:
        return {"archive": name, "address": address, "token": self.tokens.get(name)}


def open_archives(
    archives: Sequence[ArchiveToServe],
    hosts: AllowedHosts,
    threads: int,
    stack: ExitStack,
    workers: int | None = None,
) -> ServedArchives:
    """Open each archive, to be closed with the stack; ``workers`` as ``--workers`` says.

    One that cannot be opened is reported and does not keep the others from being served; if none
    can be opened, that is an error. So is a wrong option, of whichever archive.
    """
    several = len(archives) > 1
    if several and (workers or 1) > 1:
        raise AskonceError("--workers is for one archive; several are served by one process")
    executor = query_threads(threads) if several else None  # all archives share the cores
    members, tokens, errors = [], {}, []
    for archive in archives:
        count = 1 if several else count_workers(archive, workers)
        settings, token = _settings(archive.options, hosts, threads, several, count)
        member = Member(archive.name)
        members.append(member)
        try:
            engine = stack.enter_context(_engine(archive, several))
        except AskonceError as error:
            member.error = str(error)
            errors.append(f"{member.name} cannot be served: {error}" if several else str(error))
            continue
        stack.enter_context(_notifying(engine, archive.options.webhook))
        member.service = Service(engine, settings, executor, _workers(engine, archive, count))
        if token is not None:
            tokens[member.name] = token
    if len(errors) == len(members):
        raise AskonceError("; ".join(errors))
    for text in errors:
        typer.echo(text, err=True)
    if executor is not None:
        return ServedArchives(create_several_app(members, hosts, executor), members, tokens)
    return ServedArchives(app_of(members[0].needed()), members, tokens)


def run_server(served: ServedArchives, listener: socket.socket) -> None:
    """Listen at once, open the indexes in the background, drain running requests at the end."""
    tune_process()
    members = served.members
    server = Server(served.app, ConnectionSettings.below_file_limit(len(members)))
    failed: list[Exception] = []

    def start(member: Member) -> None:
        try:
            engine = member.needed().engine
            engine.start(background=True)
            ready = f"{member.name}: ready" if len(members) > 1 else "ready"
            typer.echo(f"{ready}: searching {engine.status().posts:,} posts", err=True)
        except Exception as error:
            member.error = str(error)
            failed.append(error)
            if all(other.error is not None for other in members):
                server.should_exit = True  # the main thread raises the error
            else:
                typer.echo(f"{member.name} cannot be served: {error}", err=True)

    opening = [
        threading.Thread(target=start, args=(member,), daemon=True)
        for member in members
        if member.service is not None
    ]
    # uvicorn raises the signal again after the drain; then it only has to end this function
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for thread in opening:
        thread.start()
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        typer.echo("stopping", err=True)
    for thread in opening:
        thread.join(1)  # the next start completes a partly built index
    if failed and all(member.error is not None for member in members):
        raise failed[0]


def make_keys(file: Path | None, open_writes: bool) -> tuple[Keys, str | None]:
    """The keys of an archive; the token if there would be no key for writing otherwise."""
    keys = read_keys(os.environ, file)
    if open_writes and keys.write:
        raise AskonceError(
            f"writes need the key of {WRITE_KEY} or --api-key-file; remove that key or "
            "--allow-unauthenticated-writes"
        )
    if open_writes:
        typer.echo("warning: anyone who can reach this server can change its posts", err=True)
        return replace(keys, open_writes=True), None
    return (keys, None) if keys.write else keys.with_token()


def count_workers(archive: ArchiveToServe, wanted: int | None) -> int:
    """How many processes answer questions: as many as wanted, where others can open the archive."""
    apart = is_address(archive.location) or Path(archive.location).is_dir()
    if apart and archive.options.index is None:
        return wanted or min(os.cpu_count() or 1, MOST_WORKERS)
    if (wanted or 1) > 1:
        raise AskonceError(
            "--workers needs an archive in a folder or a database, and indexes without --index; "
            "`askonce import` makes a folder"
        )
    return 1


def _workers(engine: Engine, archive: ArchiveToServe, count: int) -> WorkerPool | None:
    """The processes that answer beside this one; None if there are none."""
    if count == 1:
        return None
    engine.share()
    return WorkerPool(engine, archive.location, archive.options.folder, count - 1)


def _settings(
    options: ArchiveOptions, hosts: AllowedHosts, threads: int, several: bool, processes: int
) -> tuple[ServerSettings, str | None]:
    """The settings of an archive's service, and its token for writing."""
    keys, token = make_keys(options.api_key_file, options.allow_unauthenticated_writes)
    settings = ServerSettings(
        threads=max(1, threads // processes),
        queries=queries_lane(options.max_wait, processes),
        rate=options.rate,
        keys=keys,
        hosts=hosts,
        clicks=options.clicks,
        log_days=options.log_searches,
        image_hosts=options.image_host,
        ask_url=options.ask_url,
        origins=tuple(map(origin_of, options.allow_origin)),
        webhook_secret=os.environ.get(WEBHOOK_SECRET, ""),
        one_of_several=several,
    )
    return settings, token


def _engine(archive: ArchiveToServe, several: bool) -> Engine:
    """An engine that owns the indexes of the archive, not started yet."""
    options = archive.options
    posts = open_archive(archive.location, options.folder)
    messages = Messages(f"{archive.name}: " if several else "")
    # the caches of many archives would fill the memory before anyone asks
    engine = Engine(posts, messages, options.index, options.reading, warms=not several)
    try:
        engine.need_indexes()
    except AskonceError:
        engine.close()
        raise
    return engine


@contextmanager
def _notifying(engine: Engine, url: str | None) -> Iterator[None]:
    """Send webhooks in the background while the server runs."""
    if url is None:
        yield
        return
    secret = os.environ.get(WEBHOOK_SECRET, "")
    if not secret or not url.startswith(("http://", "https://")):
        raise AskonceError(f"--webhook needs an http:// address, and {WEBHOOK_SECRET} to sign with")
    stop = threading.Event()
    notifier = Notifier(engine, url, secret)

    def watch() -> None:
        with closing(notifier.client):
            notifier.watch(stop, WEBHOOK_SECONDS, lambda text: typer.echo(text, err=True))

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        stop.set()
        watching.join(5)


class Messages:
    """Print the engine's events on stderr, repeated ones at most once in a few seconds."""

    def __init__(self, prefix: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._prefix, self._clock = prefix, clock
        self._text, self._printed = "", 0.0

    def __call__(self, event: EngineEvent) -> None:
        now = self._clock()
        if event.text != self._text or now - self._printed >= PROGRESS_SECONDS:
            self._text, self._printed = event.text, now
            typer.echo(f"{self._prefix}{event}", err=True)
