"""The command line: results on stdout, progress and messages on stderr, exit code 2 on user errors.

Each verb is one file. Heavy imports happen inside the commands, so that ``--help`` is fast.
"""

import sys
from importlib import import_module
from typing import Annotated

import typer

from askonce.cli.train_recipe import OldSpelling
from askonce.errors import AskonceError

# one file each; `import` is not a valid module name
VERBS = (
    *("ask", "bench", "convert", "datasets", "duplicates", "evaluate", "export"),
    *(
        "export_model",
        "import_",
        "index",
        "info",
        "models",
        "pretrain",
        "report",
        "serve",
        "stats",
        "train",
    ),
    *("train_recipe", "tune"),
)

app = typer.Typer(
    name="askonce",
    cls=OldSpelling,
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
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
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find similar questions and rank existing answers."""
    state["debug"] = debug


for verb in VERBS:
    module = import_module(f"askonce.cli.{verb}")
    app.command(name=verb.rstrip("_").replace("_", "-"))(module.command)


def main() -> None:
    try:
        app()
    except AskonceError as error:
        _fail(str(error), 2)
    except BrokenPipeError:  # the reader of our output, such as `head`, has closed it
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        _fail("interrupted", 130)


def _fail(message: str, code: int) -> None:
    if state["debug"] and code == 2:
        raise
    typer.echo(f"askonce: {message}", err=True)
    sys.exit(code)
