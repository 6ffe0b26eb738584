"""The progress of training on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from askonce.cli.output import bar, first_process
from askonce.training.events import Epoch, Event, Note, OnEvent, Phase, Reading, Step, ignore

QUIET = ("seconds", "rate")  # figures of an epoch that are in metrics.jsonl only


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
    from askonce.errors import MissingExtra

    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtra("tensorboard", "tensorboard", "--tensorboard") from None
    return SummaryWriter(str(folder / "tensorboard"))
