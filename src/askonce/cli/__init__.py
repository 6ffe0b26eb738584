"""The command line: results on stdout, progress and messages on stderr, exit code 2 on user errors.

Commands with a common subject share a file. Heavy imports happen inside the commands, so that
``--help`` is fast.
"""

import os
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer import Option

from askonce.cli.group import Commands
from askonce.errors import AskonceError

# the commands of each file; `import` is not a valid name
VERBS = {
    "archives.ask": ("ask",),
    "archives.demo": ("demo",),
    "archives.duplicates": ("duplicates",),
    "archives.import_": ("import_", "export"),
    "archives.index": ("index",),
    "archives.info": ("info",),
    "archives.serve": ("serve", "mcp"),
    "archives.sync": ("sync",),
    "archives.train": ("train",),
    "benchmarks.bench": ("bench", "report", "evaluate"),
    "benchmarks.datasets": ("datasets", "stats", "convert"),
    "benchmarks.models": ("models", "export_model"),
    "benchmarks.pairs": ("train_pairs",),
    "benchmarks.recipes": ("train_recipe", "pretrain", "tune"),
}

app = typer.Typer(
    name="askonce",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

state = {"debug": False}  # of the running command


def _version(wanted: bool) -> None:
    if wanted:
        from askonce import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    debug: Annotated[bool, Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[
        bool, Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find similar questions and rank existing answers."""
    state["debug"] = debug


for verb, file in sorted((verb, file) for file, verbs in VERBS.items() for verb in verbs):
    command = getattr(import_module(f"askonce.cli.{file}"), verb)
    app.command(name=verb.rstrip("_").replace("_", "-"))(command)


def main() -> None:
    try:
        app()
    except AskonceError as error:
        if state["debug"]:
            raise
        typer.echo(f"askonce: {error}", err=True)
        sys.exit(2)


def program() -> None:
    """The command line as a process: threads that still work, such as on an index, end with it.

    Python would unwind them in the middle of C++ code, which aborts the process.
    """
    try:
        main()
        code: Any = 0
    except SystemExit as stopped:
        code = stopped.code
    if threading.active_count() > 1 and isinstance(code, int):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed by its reader
                stream.flush()
        os._exit(code)
    sys.exit(code)
