"""``askonce tune``: search the ranges of a recipe on dev."""

from pathlib import Path
from typing import Annotated

import typer

from askonce.cli.output import DataFolder, JsonFlag, console, vectors_beside, write_json
from askonce.cli.training_progress import (
    Changes,
    OutFolder,
    Vectors,
    open_recipe,
    training_progress,
)


def command(
    recipe: Annotated[Path, typer.Argument(help="A TOML file with a [tune] table of ranges.")],
    data: DataFolder,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Number of trials.")] = 20,
    out: OutFolder = None,
    changes: Changes = None,
    vectors: Vectors = None,
    json: JsonFlag = False,
) -> None:
    """Search the ranges of a recipe on dev; run the same command to resume a search."""
    from askonce.data.benchmarks import load_dataset
    from askonce.training.tuning import tune

    _, name, folder = open_recipe(recipe, changes, out, "tune")
    with training_progress() as on_event:
        dataset = load_dataset(name, data)
        beside = vectors or vectors_beside(data)
        best = tune(recipe, changes or [], dataset, beside, folder, trials, on_event)
    if json:
        write_json(best)
        return
    settings = " ".join(f"--set {setting}" for setting in best["set"])
    console().print(f"best of {best['trials']} trials: dev {best['dev']:.4f} with {settings}")
