"""``askonce train-recipe``, ``pretrain`` and ``tune``: train by a recipe on a dataset."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from askonce.cli.benchmarks.inputs import load_checked, packaged_recipe, vectors_beside
from askonce.cli.options import DataFolder, JsonFlag, SkipDamaged, folder_only
from askonce.cli.output import console, first_process, show, write_json
from askonce.cli.progress import training_progress
from askonce.errors import AskonceError
from askonce.training.events import Phase

if TYPE_CHECKING:
    from askonce.training.recipe import Recipe

RecipePath = Annotated[
    Path,
    Argument(
        help="A TOML recipe of your own, or one of the package by name, such as wikiqa/hyperqa.",
        callback=packaged_recipe,
    ),
]
Changes = Annotated[
    list[str] | None,
    Option("--set", help="Change a setting, such as model.dim=200 or train.rate=0.01."),
]
OutFolder = Annotated[
    Path | None,
    Option("--out", help="Output folder; else runs/VERB-DATASET-MODEL.", callback=folder_only),
]
Vectors = Annotated[
    Path | None, Option("--vectors", help="Word vectors; else glove* beside the data.")
]


def train_recipe(
    recipe: Annotated[
        Path,
        Argument(
            help="A TOML recipe of your own, one of the package by name, such as wikiqa/hyperqa, "
            "or a model, for its default recipe.",
            callback=packaged_recipe,
        ),
    ],
    data: Annotated[Path | None, Option(help="Folder of the recipe's dataset.")] = None,
    dataset: Annotated[
        str | None,
        Option(help="Dataset instead of the recipe's, such as csv or jsonl (`askonce datasets`)."),
    ] = None,
    skip_damaged: SkipDamaged = False,
    out: Annotated[
        Path | None,
        Option(help="Folder of the run; default runs/DATASET-MODEL.", callback=folder_only),
    ] = None,
    changes: Changes = None,
    start: Annotated[
        Path | None, Option(help="A ranker folder to start from (pre-training).")
    ] = None,
    vectors: Vectors = None,
    tensorboard: Annotated[
        bool, Option("--tensorboard", help="Also write TensorBoard events into the run.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Train a ranker by a recipe; if it is stopped, run the same command again to resume."""
    from askonce.training.recipe import Before, dataset_of, read_recipe, read_table
    from askonce.training.run import RecipeTraining

    if data is None:
        raise AskonceError(f"--data names the folder of the dataset that {recipe} trains on")
    path, own = _recipe(recipe)
    every = [*own, *([f"dataset={dataset}"] if dataset else []), *(changes or [])]
    settings = read_recipe(path, every)
    name = dataset_of(settings, recipe)
    folder = out or Path("runs") / f"{name}-{settings.model}"
    with training_progress(folder if tensorboard else None) as on_event:
        on_event(Phase(f"reading {name}"))
        loaded = load_checked(name, data, skip_damaged)
        beside = vectors or vectors_beside(data)
        before = start or Before(distil=read_table(path, "distil", every))
        summary = RecipeTraining(settings, loaded, beside, on_event).run(folder, before)
    if not first_process():
        return
    if json:
        write_json(summary)
    else:
        _show(summary)


def _recipe(given: Path) -> tuple[Path, list[str]]:
    """The file of a recipe, or of a model's default recipe with its changes."""
    from askonce.training.defaults import default_recipe

    default = None if given.suffix == ".toml" or given.exists() else default_recipe(str(given))
    return default or (given, [])


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


def pretrain(
    recipe: RecipePath,
    data: DataFolder,
    out: OutFolder = None,
    changes: Changes = None,
    vectors: Vectors = None,
    json: JsonFlag = False,
) -> None:
    """Pre-train on texts alone, for `askonce train-recipe --start`; a stopped run resumes."""
    from askonce.data.benchmarks import load_dataset
    from askonce.training.recipe import read_table
    from askonce.training.run import RecipeTraining

    chosen, name, folder = _open_recipe(recipe, changes, out, "pretrain")
    table = read_table(recipe, "pretrain", changes or []) or {}
    with training_progress() as on_event:
        on_event(Phase(f"reading {name}"))
        dataset = load_dataset(name, data)
        beside = vectors or vectors_beside(data)
        history = RecipeTraining(chosen, dataset, beside, on_event).pretrain(table, folder)
    if not first_process():
        return
    result: dict[str, Any] = {"model": chosen.model, "folder": str(folder), "history": history}
    start = f"askonce train-recipe {recipe} --start {folder}"
    show(result, json, f"saved in {folder}; start from it: {start}")


def tune(
    recipe: RecipePath,
    data: DataFolder,
    trials: Annotated[int, Option(min=1, help="Number of trials.")] = 20,
    out: OutFolder = None,
    changes: Changes = None,
    vectors: Vectors = None,
    json: JsonFlag = False,
) -> None:
    """Search the ranges of a recipe on dev; run the same command to resume a search."""
    from askonce.data.benchmarks import load_dataset
    from askonce.training.tuning import tune

    _, name, folder = _open_recipe(recipe, changes, out, "tune")
    with training_progress() as on_event:
        dataset = load_dataset(name, data)
        beside = vectors or vectors_beside(data)
        best = tune(recipe, changes or [], dataset, beside, folder, trials, on_event)
    settings = " ".join(f"--set {setting}" for setting in best["set"])
    show(best, json, f"best of {best['trials']} trials: dev {best['dev']:.4f} with {settings}")


def _open_recipe(
    path: Path, changes: list[str] | None, out: Path | None, verb: str
) -> tuple["Recipe", str, Path]:
    """A recipe, the dataset that it names, and the output folder."""
    from askonce.training.recipe import dataset_of, read_recipe

    recipe = read_recipe(path, changes or [])
    name = dataset_of(recipe, path)
    return recipe, name, out or Path("runs") / f"{verb}-{name}-{recipe.model}"
