"""``askonce train``: a recipe on a dataset becomes a ranker, an archive gets models that serve."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askonce.cli.ask import WorkFolder
from askonce.cli.output import JsonFlag, console, first_process, vectors_beside, write_json
from askonce.errors import AskonceError
from askonce.training.events import Epoch, Event, Note, OnEvent, Phase, Step, ignore

if TYPE_CHECKING:
    from askonce.ranking.manifest import Serving

Changes = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a setting, such as model.dim=200 or train.rate=0.01."),
]
Vectors = Annotated[
    Path | None, typer.Option("--vectors", help="Word vectors; else glove* beside the data.")
]


class Task(StrEnum):
    """What an archive can train."""

    questions = "questions"
    answers = "answers"


METRICS = ("MAP", "MRR", "P@1", "P@5", "nDCG@10")
QUIET = ("seconds", "rate")  # of an epoch's record: in metrics.jsonl, not on the screen


def command(
    what: Annotated[
        str,
        typer.Argument(
            help="A recipe (TOML), or an archive: a folder, a postgresql:// address, a JSONL file "
            "or 'bicycles'."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of the recipe's dataset; an archive needs none."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of the run; default runs/NAME, or the archive itself."),
    ] = None,
    changes: Changes = None,
    start: Annotated[
        Path | None, typer.Option("--start", help="A ranker folder to start from (pre-training).")
    ] = None,
    vectors: Vectors = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Of an archive's run; recipes have theirs.")
    ] = 1,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            help="Of an archive: a model to train, or a sentence-transformers one such as minilm.",
        ),
    ] = None,
    task: Annotated[
        Task | None, typer.Option("--task", help="Of an archive: one of its tasks; default both.")
    ] = None,
    minutes: Annotated[
        float, typer.Option("--minutes", help="Of an archive: after which no epoch begins.")
    ] = 10.0,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write TensorBoard events into the run.")
    ] = False,
    folder: WorkFolder = None,
    json: JsonFlag = False,
) -> None:
    """Train a ranker by a recipe, or on an archive; the same command goes on if it was stopped."""
    if not what.endswith(".toml"):
        tasks = (task.value,) if task else ("questions", "answers")
        wishes = {"encoder": encoder, "tasks": tasks, "minutes": minutes, "seed": seed}
        _train_archive(what, folder, out, wishes | {"vectors": vectors}, json)
        return
    if data is None:
        raise AskonceError(f"--data names the folder of the dataset that {what} trains on")
    summary = _train_recipe(Path(what), data, out, changes or [], start, vectors, tensorboard)
    if not first_process():
        return
    if json:
        write_json(summary)
    else:
        _show(summary)


def _train_recipe(
    recipe: Path,
    data: Path,
    out: Path | None,
    changes: list[str],
    start: Path | None,
    vectors: Path | None,
    tensorboard: bool,
) -> dict[str, Any]:
    from askonce.data.benchmarks import load_dataset
    from askonce.training.recipe import dataset_of, read_recipe
    from askonce.training.run import run_recipe

    chosen = read_recipe(recipe, changes)
    name = dataset_of(chosen, recipe)
    folder = out or Path("runs") / f"{name}-{chosen.model}"
    with live(tensorboard, folder) as on_event:
        on_event(Phase(f"reading {name}"))
        dataset = load_dataset(name, data)
        return run_recipe(chosen, dataset, folder, vectors or vectors_beside(data), start, on_event)


def _train_archive(
    place: str, folder: Path | None, out: Path | None, wishes: dict[str, Any], json: bool
) -> None:
    from askonce.archive import open_archive
    from askonce.config import as_dict
    from askonce.training.archive.in_place import train_on_archive
    from askonce.training.archive.run import TrainOptions

    archive = open_archive(place, folder)
    with live(False, out or Path()) as on_event:
        trained = train_on_archive(archive, TrainOptions(**wishes), on_event, out)
    for name, reason in trained.missing.items():
        typer.echo(f"note: no ranker for {name}: {reason}", err=True)
    if json:
        manifest = as_dict(trained.manifest)
        write_json(
            {
                "archive": archive.name,
                "folder": str(trained.folder),
                "rankers": {name: manifest[name] for name in wishes["tasks"] if manifest[name]},
                "missing": dict(trained.missing),
            }
        )
        return
    for name in wishes["tasks"]:
        serving = getattr(trained.manifest, name)
        if serving is not None:
            _show_serving(name, serving)
    console().print(f"models in {trained.folder}")


def _show_serving(name: str, serving: "Serving") -> None:
    """What serves, and the figures of every system that was tried, BM25's first."""
    from rich.table import Table

    weights = serving.weights
    parts = [f"{weight:g} {stage}" for stage, weight in weights.items()]
    stages = " + ".join(parts if len(parts) > 1 else weights)
    models = [model for model in (serving.encoder, serving.pair) if model]
    learnt = f"learnt from {serving.labels}, {serving.seconds:.0f} s"
    title = f"{name}: {stages} serves ({', '.join([*models, learnt])})"
    table = Table("split", "system", *METRICS, title=title, title_justify="left")
    for split, systems in serving.figures.items():
        for system in sorted(systems, key=lambda system: system.startswith("fused")):
            values = systems[system]
            if METRICS[0] in values:
                table.add_row(split, system, *(f"{values[metric]:.4f}" for metric in METRICS))
    console().print(table)
    if serving.encoder is None and serving.pair is None:
        hint = "more marks, or --encoder minilm, may help"
        typer.echo(f"note: nothing was better than BM25 on dev for {name}; {hint}", err=True)


def _show(summary: dict[str, Any]) -> None:
    out = console()
    out.print(
        f"{summary['model']}, best epoch {summary['best_epoch']}, saved in {summary['folder']}"
    )
    for split, reports in summary["figures"].items():
        for name, metrics in reports.items():
            figures = "  ".join(f"{key} {value:.4f}" for key, value in metrics.items())
            out.print(f"  {split:<5} {name:<12} {figures}")
    dev = summary["figures"].get("dev", {})
    if dev and dev[summary["model"]]["MAP"] < dev["bm25"]["MAP"]:
        hint = "more labelled questions, or pretrained word vectors (--vectors), may help"
        typer.echo(f"note: BM25 is better than {summary['model']} on dev; {hint}", err=True)


@contextmanager
def live(tensorboard: bool, folder: Path) -> "Iterator[OnEvent]":
    """A bar on stderr with loss, dev figure and time left; epochs stay as lines.

    Of several processes the first one speaks.
    """
    if not first_process():
        yield ignore
        return
    writer = _writer(folder) if tensorboard else None
    with _bar(writer) as on_event:
        yield on_event
    if writer is not None:
        writer.close()


@contextmanager
def _bar(writer: Any) -> "Iterator[OnEvent]":  # noqa: ANN401 - a late import
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
