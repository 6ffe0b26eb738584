"""Output of the commands: JSON or tables on stdout."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from askonce.cli.options import is_stdout

if TYPE_CHECKING:
    from rich.console import Console


def console(stderr: bool = False) -> "Console":
    """A console on stdout; 160 columns wide if that is not a terminal."""
    from rich.console import Console

    class PipeConsole(Console):
        """Leaves a closed pipe to `askonce.cli.group`; rich would exit with code 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None if sys.stdout.isatty() else 160
    return PipeConsole(stderr=stderr, width=width, highlight=False)


def first_process() -> bool:
    """Whether this process prints: under torchrun only the first one does."""
    return os.environ.get("RANK", "0") == "0"


def write_json(value: Any, path: Path | None = None) -> None:  # noqa: ANN401 - any JSON value
    """Write a value as JSON to a file, or to stdout (no path, or ``-``)."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if path is None or is_stdout(path):
        typer.echo(text)
    else:
        path.write_text(text + "\n", encoding="utf-8")


def show(value: Any, as_json: bool, text: str) -> None:  # noqa: ANN401 - any JSON value
    """Print the result of a command: as JSON, or as the text for people."""
    if as_json:
        write_json(value)
    else:
        typer.echo(text)


def first_line(text: str | None) -> str:
    """The first line of a docstring, with names in single backquotes."""
    return (text or "").strip().partition("\n")[0].replace("``", "`")


def number_of(count: int, noun: str) -> str:
    """A count with its noun: 1 answer, 2,000 answers."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
