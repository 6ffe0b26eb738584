"""Progress on stderr."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askonce.cli.output import first_process
from askonce.errors import needing
from askonce.training.events import Epoch, Event, Note, OnEvent, Phase, Reading, Step, ignore

if TYPE_CHECKING:
    from rich.console import Console

    from askonce.engine.lifecycle.following import EngineEvent, OnEngineEvent

QUIET = ("seconds", "rate")  # figures of an epoch that are in metrics.jsonl only


@contextmanager
def bar(first: str, *columns: str) -> "Iterator[tuple[Console, Callable[..., None]]]":
    """A bar on stderr: its console, and a function to set description, completed and total.

    ``columns`` name the columns of rich beside the description.
    """
    from rich import progress
    from rich.console import Console

    console, text = Console(stderr=True, highlight=False), "{task.description}"
    made = [getattr(progress, f"{name}Column")() for name in columns]
    off = not console.is_terminal  # where it would leave an empty line
    with progress.Progress(text, *made, console=console, transient=True, disable=off) as shown:
        yield console, partial(shown.update, shown.add_task(first, total=None))


@contextmanager
def progress(first: str) -> Iterator[Callable[[object], None]]:
    """A spinner with the elapsed time; call the function to change its text."""
    with bar(first, "Spinner", "TimeElapsed") as (_, update):
        yield lambda message: update(description=str(message))


@contextmanager
def engine_progress(first: str) -> "Iterator[OnEngineEvent]":
    """A spinner with what an engine does; problems that it survived stay as lines."""
    with bar(first, "Spinner", "TimeElapsed") as (console, update):

        def on_event(event: "EngineEvent") -> None:
            if event.problem:
                console.print(f"note: {event}", markup=False, soft_wrap=True)
            else:
                update(description=str(event))

        yield on_event


@contextmanager
def counted_progress(first: str) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar; call the function with text, done and total (0 if unknown)."""
    with bar(first, "Bar", "MofNComplete", "TimeElapsed", "TimeRemaining") as (_, update):
        yield lambda text, done, total: update(
            description=text, completed=done, total=total or None
        )


@contextmanager
def training_progress(tensorboard: Path | None = None) -> Iterator[OnEvent]:
    """A bar on stderr with loss, dev metrics and time left; epochs stay as lines.

    Of several processes only the first one prints. ``tensorboard`` is a run folder for its events.
    """
    if not first_process():
        yield ignore
        return
    writer = _writer(tensorboard) if tensorboard else None
    with _training_bar(writer) as on_event:
        yield on_event
    if writer is not None:
        writer.close()


@contextmanager
def _training_bar(writer: Any) -> Iterator[OnEvent]:  # noqa: ANN401 - a late import
    with bar("starting", "Bar", "TimeElapsed", "TimeRemaining") as (err, update):

        def on_event(event: Event) -> None:
            match event:
                case Note(text):
                    err.print(f"note: {text}")
                case Phase(text, ""):
                    update(description=text, total=None)
                case Phase(text, name):
                    err.print(f"{name}: {text}")
                    update(description=f"{name}: {text}", total=None)
                case Reading(done, total):
                    update(description="reading texts", completed=done, total=total)
                case Step(epoch, done, total, loss):
                    text = f"epoch {epoch}  loss {loss:.4f}"
                    update(description=text, completed=done, total=total)
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
    with needing("tensorboard", "--tensorboard"):
        from torch.utils.tensorboard import SummaryWriter
    return SummaryWriter(str(folder / "tensorboard"))
