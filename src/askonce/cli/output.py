"""Output of the commands: JSON or tables on stdout, progress on stderr."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

if TYPE_CHECKING:
    from rich.console import Console

    from askonce.types import Dataset

JsonFlag = Annotated[bool, Option("--json", help="Print the result as JSON.")]
DataFolder = Annotated[
    Path, Option("--data", help="Folder of the dataset, or its parent.", show_default=False)
]


SkipDamaged = Annotated[
    bool,
    Option("--skip-damaged", help="Skip and count damaged lines of csv, jsonl or beir data."),
]


def load_checked(name: str, folder: Path, skip_damaged: bool) -> "Dataset":
    """Read a dataset; damaged lines are an error, or skipped and counted on stderr."""
    from askonce.data.benchmarks import load_dataset
    from askonce.files import damaged_lines, skipping_damaged

    if not skip_damaged:
        return load_dataset(name, folder)
    with skipping_damaged() as errors:
        dataset = load_dataset(name, folder)
    for line in damaged_lines(name, errors):
        typer.echo(line, err=True)
    return dataset


def console(stderr: bool = False) -> "Console":
    """A console on stdout; 160 columns wide if that is not a terminal."""
    from rich.console import Console

    class PipeConsole(Console):
        """Leaves a closed pipe to `askonce.cli.group`; rich would exit with code 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None if sys.stdout.isatty() else 160
    return PipeConsole(stderr=stderr, width=width, highlight=False)


def is_stdout(path: Path | None) -> bool:
    """Whether ``--out`` names stdout."""
    return str(path) == "-"


def folder_only(path: Path | None) -> Path | None:
    """Refuse ``--out -`` where a folder is written."""
    if is_stdout(path):
        raise typer.BadParameter("a folder is written; stdout cannot take it")
    return path


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


def first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def vectors_beside(data: Path) -> Path | None:
    """A folder of GloVe vectors in the data folder or its parent."""
    folders = (data, data.resolve().parent)
    return next((path for folder in folders for path in sorted(folder.glob("glove*"))), None)


def packaged_recipes() -> Path:
    """The folder of the recipes that come with the package, or are in the repository."""
    package = Path(__file__).parents[1]
    folders = (package / "recipes", package.parents[1] / "recipes")
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def packaged_recipe(path: Path) -> Path:
    """The recipe at a path or, if nothing is there, the package's recipe of that name."""
    named = packaged_recipes() / path.with_suffix(".toml")
    return named if not path.exists() and not path.is_absolute() and named.is_file() else path


@contextmanager
def bar(first: str, *columns: str) -> "Iterator[tuple[Console, Callable[..., None]]]":
    """A bar on stderr: its console, and a function to set description, completed and total.

    ``columns`` name the columns of rich beside the description.
    """
    from rich import progress
    from rich.console import Console

    console, text = Console(stderr=True, highlight=False), "{task.description}"
    made = [getattr(progress, f"{name}Column")() for name in columns]
    with progress.Progress(text, *made, console=console, transient=True) as shown:
        yield console, partial(shown.update, shown.add_task(first, total=None))


@contextmanager
def progress(first: str) -> Iterator[Callable[[object], None]]:
    """A spinner with the elapsed time; call the function to change its text."""
    with bar(first, "Spinner", "TimeElapsed") as (_, update):
        yield lambda message: update(description=str(message))


@contextmanager
def counted_progress(first: str) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar; call the function with text, done and total (0 if unknown)."""
    with bar(first, "Bar", "MofNComplete", "TimeElapsed", "TimeRemaining") as (_, update):
        yield lambda text, done, total: update(
            description=text, completed=done, total=total or None
        )
