"""``askonce train``: models of an archive."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from askonce.cli.archives.training_table import show_serving
from askonce.cli.options import ArchiveLocation, JsonFlag, WorkFolder, folder_only
from askonce.cli.output import console, write_json
from askonce.cli.progress import training_progress
from askonce.types import TaskName

if TYPE_CHECKING:
    from askonce.training.archive.run import Trained


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
        float, Option(help="Time for reading and training, after which epochs are cut short.")
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
        show_serving(name, serving)
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
