"""``askonce train`` and ``train-pairs``: models of an archive, a classifier of labelled pairs."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from askonce.cli.ask import ArchivePlace, WorkFolder
from askonce.cli.output import JsonFlag, SkipDamaged, console, folder_only, load_checked, write_json
from askonce.cli.training_progress import training_progress
from askonce.cli.training_table import show_serving
from askonce.errors import AskonceError

if TYPE_CHECKING:
    from askonce.training.archive.run import Trained


TaskName = Literal["questions", "answers"]
FORMATS: dict[str, Literal["csv", "jsonl"]] = {".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl"}


def train(
    archive: ArchivePlace,
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


def train_pairs(
    data: Annotated[
        Path,
        Argument(help="Folder with train, dev and test as .csv, .tsv or .jsonl: two texts, label."),
    ],
    out: Annotated[Path, Option(help="Folder of the classifier.", callback=folder_only)] = Path(
        "runs/pairs"
    ),
    encoder: Annotated[
        str, Option(help="Whose vectors are compared: starter, minilm, a name or a folder.")
    ] = "starter",
    skip_damaged: SkipDamaged = False,
    json: JsonFlag = False,
) -> None:
    """Learn from labelled pairs whether two texts ask the same; select the threshold on dev."""
    from askonce.training.labelled_pairs import labelled_pairs, measure, train_classifier

    dataset = load_checked(_format(data), data, skip_damaged)
    classifier = train_classifier(dataset, encoder)
    classifier.save(out)
    figures = {
        split: measure(classifier, labelled_pairs(dataset, split))
        for split in (dataset.dev, dataset.test)
        if split in dataset.splits
    }
    if json:
        shown = {split: asdict(one) for split, one in figures.items()}
        write_json({"folder": str(out), "threshold": classifier.threshold, "figures": shown})
        return
    print_line = console().print
    for split, one in figures.items():
        interval = f"[{one.ap_interval[0]:.3f}, {one.ap_interval[1]:.3f}]"
        print_line(
            f"{split} (n={one.pairs:,}, {one.positives:,} the same): accuracy {one.accuracy:.4f}  "
            f"F1 {one.f1:.4f}  AP {one.ap:.4f} {interval}",
            markup=False,
        )
    print_line(f"the same from a probability of {classifier.threshold:.3f}; saved in {out}")


def _format(folder: Path) -> str:
    """Csv or jsonl, by the file of the training pairs."""
    for ending, name in FORMATS.items():
        if (folder / f"train{ending}").is_file():
            return name
    raise AskonceError(f"no train.csv, train.tsv or train.jsonl in {str(folder)!r}")
