"""How commands speak: JSON or tables on stdout, progress on stderr."""

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

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
DataFolder = Annotated[
    Path,
    typer.Option(
        "--data", help="Folder of the dataset, or the one that holds it.", show_default=False
    ),
]


def console() -> "Console":
    """Stdout for people; as wide as it needs to be when it is not a terminal."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def first_process() -> bool:
    """Whether this process speaks: of those that torchrun started, only the first."""
    return os.environ.get("RANK", "0") == "0"


def write_json(value: Any, path: Path | None = None) -> None:  # noqa: ANN401 - any JSON value
    """Print a value, or write it to a file; ``-`` is stdout."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if path is None or str(path) == "-":
        typer.echo(text)
    else:
        path.write_text(text + "\n", encoding="utf-8")


def first_line(text: str | None) -> str:
    """What a docstring says first."""
    return (text or "").strip().partition("\n")[0]


def vectors_beside(data: Path) -> Path | None:
    """A folder of GloVe vectors in the data folder or next to it."""
    places = (data, data.resolve().parent)
    return next((path for place in places for path in sorted(place.glob("glove*"))), None)


@contextmanager
def progress(first: str) -> Iterator[Callable[[str], None]]:
    """A spinner with the time spent, on stderr; the given function says what is being done."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=None)
        yield lambda text: bar.update(task, description=text)


@contextmanager
def counted_progress(first: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar with the time spent and left, on stderr; the function says what, how much, of how much.

    Of nothing, it only says what.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    text, times = TextColumn("{task.description}"), (TimeElapsedColumn(), TimeRemainingColumn())
    columns = (text, BarColumn(), MofNCompleteColumn(), *times)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=None)
        yield lambda what, done, total: bar.update(
            task, description=what, completed=done, total=total or None
        )
