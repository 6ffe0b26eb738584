"""The progress of training on stderr, and options that training verbs share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askonce.cli.output import first_process
from askonce.training.events import Epoch, Event, Note, OnEvent, Phase, Reading, Step, ignore

if TYPE_CHECKING:
    from askonce.training.recipe import Recipe

Changes = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a setting, such as model.dim=200 or train.rate=0.01."),
]
OutFolder = Annotated[
    Path | None, typer.Option("--out", help="Output folder; else runs/VERB-DATASET-MODEL.")
]
Vectors = Annotated[
    Path | None, typer.Option("--vectors", help="Word vectors; else glove* beside the data.")
]
QUIET = ("seconds", "rate")  # figures of an epoch that are in metrics.jsonl only


def open_recipe(
    path: Path, changes: list[str] | None, out: Path | None, verb: str
) -> tuple["Recipe", str, Path]:
    """A recipe, the dataset that it names, and the output folder."""
    from askonce.training.recipe import dataset_of, read_recipe

    recipe = read_recipe(path, changes or [])
    name = dataset_of(recipe, path)
    return recipe, name, out or Path("runs") / f"{verb}-{name}-{recipe.model}"


@contextmanager
def training_progress(tensorboard: Path | None = None) -> Iterator[OnEvent]:
    """A bar on stderr with loss, dev metrics and time left; epochs stay as lines.

    Of several processes only the first one prints. ``tensorboard`` is a run folder for its events.
    """
    if not first_process():
        yield ignore
        return
    writer = _writer(tensorboard) if tensorboard else None
    with _bar(writer) as on_event:
        yield on_event
    if writer is not None:
        writer.close()


@contextmanager
def _bar(writer: Any) -> Iterator[OnEvent]:  # noqa: ANN401 - a late import
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    err = Console(stderr=True, highlight=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def on_event(event: Event) -> None:
            match event:
                case Note(text):
                    err.print(f"note: {text}")
                case Phase(text, ""):
                    bar.update(task, description=text, total=None)
                case Phase(text, name):
                    err.print(f"{name}: {text}")
                    bar.update(task, description=f"{name}: {text}", total=None)
                case Reading(done, total):
                    bar.update(task, description="reading texts", completed=done, total=total)
                case Step(epoch, done, total, loss):
                    text = f"epoch {epoch}  loss {loss:.4f}"
                    bar.update(task, description=text, completed=done, total=total)
                case Epoch():
                    _epoch(err, event, writer)

        yield on_event


def _epoch(err: Any, event: Epoch, writer: Any) -> None:  # noqa: ANN401 - late imports
    figures = {} if event.loss is None else {"loss": event.loss}
    figures |= {key: value for key, value in event.figures.items() if key not in QUIET}
    figures |= {f"dev {name}": value for name, value in event.dev.items()}
    text = "  ".join(f"{key} {value:.4f}" for key, value in figures.items())
    err.print(f"epoch {event.epoch:>3}  {text}{' *' if event.best else ''}")
    if writer is not None:
        for name, value in figures.items():
            writer.add_scalar(name.replace(" ", "/"), value, event.epoch)


def _writer(folder: Path) -> Any:  # noqa: ANN401 - TensorBoard is an extra
    from askonce.errors import MissingExtra

    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtra("tensorboard", "tensorboard", "--tensorboard") from None
    return SummaryWriter(str(folder / "tensorboard"))
