"""``askonce serve`` and ``mcp``: archives for people and programs, and for assistants."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from askonce.cli.archives.serving.options import (
    MAX_WAIT,
    MOST_WORKERS,
    PUBLIC_RATE,
    ArchiveOptions,
    options_by_archive,
)
from askonce.cli.options import ARCHIVE, ArchiveLocation, IndexAddress, JsonFlag, WorkFolder
from askonce.cli.output import show


def serve(
    archives: Annotated[
        list[str],
        Argument(
            metavar="ARCHIVE...",
            help=f"{ARCHIVE} Several are served below their names, /NAME/; NAME=ARCHIVE chooses "
            "the name.",
        ),
    ],
    host: Annotated[str, Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 8080,
    workers: Annotated[
        int | None,
        Option(
            min=1,
            help="Processes that answer questions of one archive, this one included. Default: one "
            f"per core, at most {MOST_WORKERS}; 1 with several archives, with --index, or for an "
            "archive without a folder.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        Option(
            min=1, help="Threads that answer questions, in all processes. Default: one per core."
        ),
    ] = None,
    rate: Annotated[
        float | None,
        Option(
            min=0,
            help="Requests per second and client; 0 for no limit. Default: "
            f"{PUBLIC_RATE:g}, or no limit on loopback.",
        ),
    ] = None,
    max_wait: Annotated[
        float,
        Option(
            min=0,
            metavar="SECONDS",
            help="How long questions of a burst may wait; those that would wait longer are refused "
            "at once.",
        ),
    ] = MAX_WAIT,
    api_key_file: Annotated[
        Path | None,
        Option(
            help="File with lines 'write KEY', 'read KEY' or 'read KEY https://ORIGIN RATE', in "
            "addition to ASKONCE_API_KEY and ASKONCE_READ_KEY."
        ),
    ] = None,
    allow_unauthenticated_writes: Annotated[
        bool,
        Option(
            "--allow-unauthenticated-writes",
            help="Let anyone who can reach the server, directly or through a proxy, add, edit and "
            "delete posts without a key.",
        ),
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        Option(
            "--allowed-host",
            envvar="ASKONCE_ALLOWED_HOSTS",
            help="Host name under which the server is reached, such as that of a proxy; repeat for "
            "several, '*' for any. Loopback names and the --host address are always allowed.",
            show_default=False,
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        Option(
            help="Origin of another site whose pages may ask this server, such as "
            "https://forum.example, and show its page in a frame; repeat for several.",
        ),
    ] = None,
    clicks: Annotated[
        bool, Option("--clicks", help="Record opened results as weak feedback for training.")
    ] = False,
    log_searches: Annotated[
        int,
        Option(
            "--log-searches",
            metavar="DAYS",
            min=0,
            help="Log searches without personal data and keep them for DAYS days; 0 logs none.",
        ),
    ] = 0,
    image_host: Annotated[
        list[str] | None,
        Option(
            "--image-host",
            metavar="HOST",
            help="Show images in posts from this host, such as i.stack.imgur.com; repeatable. "
            "Default: images are shown as links.",
            show_default=False,
        ),
    ] = None,
    ask_url: Annotated[
        str | None,
        Option(
            "--ask-url",
            metavar="URL",
            help="Where a new question is asked, such as 'https://forum.example/ask?title={title}"
            "&body={body}'. Default: posted here, where the visitor may write.",
            show_default=False,
        ),
    ] = None,
    webhook: Annotated[
        str | None,
        Option(
            "--webhook",
            help="Address to notify of likely duplicates and of questions that got their first "
            "answer, signed with ASKONCE_WEBHOOK_SECRET.",
            show_default=False,
        ),
    ] = None,
    reading: Annotated[
        float,
        Option(
            min=0,
            max=1,
            help="Share of one core's time in which the teacher reads posts that only its student "
            "has read; 0 turns this off.",
        ),
    ] = 0.5,
    index: IndexAddress = None,
    folder: WorkFolder = None,
    config: Annotated[
        Path | None,
        Option(
            help="TOML file with options of single archives: a table [NAME] for each, whose keys "
            "are options of this command, such as rate = 5 or api-key-file = 'bikes.keys'.",
            show_default=False,
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Serve archives: a page to ask questions, and an HTTP API to ask, add, edit and delete."""
    from askonce.cli.archives.serving.run import open_archives, run_server
    from askonce.server.guard.hosts import AllowedHosts
    from askonce.server.guard.keys import is_loopback
    from askonce.server.listening import address_of, listen

    public = 0.0 if is_loopback(host) else PUBLIC_RATE
    shared = ArchiveOptions(
        rate=public if rate is None else rate,
        max_wait=max_wait,
        api_key_file=api_key_file,
        allow_unauthenticated_writes=allow_unauthenticated_writes,
        allow_origin=tuple(allow_origin or ()),
        clicks=clicks,
        log_searches=log_searches,
        image_host=tuple(image_host or ()),
        ask_url=ask_url,
        webhook=webhook,
        reading=reading,
        index=index,
        folder=folder,
    )
    options = options_by_archive(archives, shared, config)
    hosts = AllowedHosts.bound_to(host, allowed_host or ())
    with listen(host, port) as listener, ExitStack() as stack:
        count = threads or os.cpu_count() or 1
        served = open_archives(options, hosts, count, stack, workers)
        address = address_of(listener)
        show(served.report(address), json, served.text(address))
        run_server(served, listener)


def mcp(archive: ArchiveLocation, index: IndexAddress = None, folder: WorkFolder = None) -> None:
    """Offer an archive to an assistant through the Model Context Protocol, over stdin and stdout.

    A server offers the same at /mcp.
    """
    from askonce.engine import Engine
    from askonce.server.agents import create_mcp

    with Engine.open(archive, index=index, folder=folder, background=True) as engine:
        create_mcp(engine).run("stdio")
