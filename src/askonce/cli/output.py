"""Output of the commands: JSON or tables on stdout, progress on stderr."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DataFolder = Annotated[
    Path,
    typer.Option("--data", help="Folder of the dataset, or its parent.", show_default=False),
]


def console() -> "Console":
    """A console on stdout; 160 columns wide if that is not a terminal."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def first_process() -> bool:
    """Whether this process prints: under torchrun only the first one does."""
    return os.environ.get("RANK", "0") == "0"


def write_json(value: Any, path: Path | None = None) -> None:  # noqa: ANN401 - any JSON value
    """Write a value as JSON to a file, or to stdout (no path, or ``-``)."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if path is None or str(path) == "-":
        typer.echo(text)
    else:
        path.write_text(text + "\n", encoding="utf-8")


def first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def vectors_beside(data: Path) -> Path | None:
    """A folder of GloVe vectors in the data folder or its parent."""
    folders = (data, data.resolve().parent)
    return next((path for folder in folders for path in sorted(folder.glob("glove*"))), None)


@contextmanager
def progress(first: str) -> Iterator[Callable[[object], None]]:
    """A spinner with the elapsed time on stderr; call the function to change its text."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=None)
        yield lambda message: bar.update(task, description=str(message))


@contextmanager
def counted_progress(first: str) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr; call the function with text, done and total (0 if unknown)."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    times = (TimeElapsedColumn(), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *times)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=None)
        yield lambda text, done, total: bar.update(
            task, description=text, completed=done, total=total or None
        )
