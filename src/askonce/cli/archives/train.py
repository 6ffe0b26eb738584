"""``askonce train``: models of an archive."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from askonce.cli.options import ArchiveLocation, JsonFlag, WorkFolder, folder_only
from askonce.cli.output import console, write_json
from askonce.cli.progress import training_progress
from askonce.types import TaskName

if TYPE_CHECKING:
    from askonce.ranking.manifest import Serving, TeacherReading
    from askonce.training.archive.run import Trained

METRICS = ("MAP", "MRR", "P@1", "P@5", "nDCG@10")


def train(
    archive: ArchiveLocation,
    out: Annotated[
        Path | None,
        Option(
            help="Folder of the models; default the archive, or runs/NAME.", callback=folder_only
        ),
    ] = None,
    task: Annotated[TaskName | None, Option(help="Train only one task; default both.")] = None,
    encoder: Annotated[
        str | None, Option(help="Only this encoder: a model to train, or a teacher such as minilm.")
    ] = None,
    minutes: Annotated[
        float, Option(help="Time for reading and training, after which no epoch begins.")
    ] = 10.0,
    vectors: Annotated[
        Path | None, Option(help="Word vectors to use beside those learnt from the posts.")
    ] = None,
    seed: Annotated[int, Option(help="Seed of all random choices.")] = 1,
    folder: WorkFolder = None,
    json: JsonFlag = False,
) -> None:
    """Train on an archive; a running server takes over the models that are best on dev.

    If training is stopped, run the same command again to resume. `askonce train-recipe` trains a
    recipe on a dataset.
    """
    from askonce.archive import open_archive
    from askonce.training.archive.in_place import train_on_archive
    from askonce.training.archive.preparing import TrainOptions

    tasks: tuple[TaskName, ...] = (task,) if task else ("questions", "answers")
    options = TrainOptions(encoder, tasks, minutes, vectors, seed)
    opened = open_archive(archive, folder)
    with training_progress() as on_event:
        trained = train_on_archive(opened, options, on_event, out)
    servings = trained.manifest.servings
    for name, reason in trained.missing.items():
        serves = "the teacher serves as it comes" if name in servings else "no ranker"
        typer.echo(f"note: {serves} for {name}: {reason}", err=True)
    if json:
        _write(opened.name, tasks, trained)
        return
    for name, serving in servings.items():
        _show(name, serving)
    console().print(f"models in {trained.folder}")


def _write(archive: str, tasks: tuple[TaskName, ...], trained: "Trained") -> None:
    from askonce.config import as_dict

    manifest = as_dict(trained.manifest)
    write_json(
        {
            "archive": archive,
            "folder": str(trained.folder),
            "rankers": {name: manifest[name] for name in tasks if manifest[name]},
            "missing": dict(trained.missing),
        }
    )


def _show(name: str, serving: "Serving") -> None:
    """What serves, and the figures of every system that was tried, BM25's first."""
    from rich.table import Table

    weights = serving.weights
    parts = [f"{weight:g} {stage}" for stage, weight in weights.items()]
    stages = " + ".join(parts if len(parts) > 1 else weights)
    models = [model for model in (serving.encoder, serving.pair) if model]
    learnt = (
        f"learnt from {serving.labels}, {serving.seconds:.0f} s" if serving.labels else "no labels"
    )
    title = f"{name}: {stages} serves ({', '.join([*models, learnt])})"
    table = Table("split", "system", *METRICS, title=title, title_justify="left")
    for split in ("dev", "test"):
        for system, values in serving.figures.get(split, {}).items():
            shown = [f"{values[metric]:.4f}" for metric in METRICS]
            if interval := serving.intervals.get(split, {}).get(system):
                shown[0] += f" [{interval[0]:.3f}, {interval[1]:.3f}]"
            table.add_row(f"{split} (n={serving.queries[split]:,})", system, *shown)
    if serving.teacher is not None:
        table.caption = f"teacher {serving.teacher.name}: {_reading(serving.teacher)}"
        table.caption_justify = "left"
    console().print(table)
    if serving.encoder is None and serving.pair is None:
        typer.echo(
            f"note: nothing was better than BM25 on dev for {name}; {_hint(serving)} may help",
            err=True,
        )
    elif serving.labels == "titles":
        typer.echo(
            "note: no duplicates are marked, so titles and bodies stand in for them; that flatters "
            "BM25, since a body repeats its title",
            err=True,
        )


def _hint(serving: "Serving") -> str:
    if serving.teacher is None:
        return "more marks, or a teacher (pip install 'askonce[minilm]'),"
    return "more marks" if serving.teacher.tried else "more --minutes for the teacher"


def _reading(teacher: "TeacherReading") -> str:
    """What a teacher has read, and what follows from that."""
    text = f"read {teacher.read:,} of {teacher.posts:,} posts"
    if not teacher.tried:
        return f"{text}: not compared, for lack of --minutes; an engine reads on"
    if teacher.read == teacher.posts:
        return text
    return f"{text}: all systems measured on these; an engine reads the others"
