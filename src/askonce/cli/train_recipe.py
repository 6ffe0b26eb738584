"""``askonce train-recipe``: a recipe on a dataset becomes a ranker."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from askonce.cli.output import (
    JsonFlag,
    console,
    first_process,
    vectors_beside,
    write_json,
)
from askonce.cli.training_progress import Changes, Vectors, training_progress
from askonce.errors import AskonceError
from askonce.training.events import Phase


def command(
    recipe: Annotated[Path, typer.Argument(help="A TOML file of recipes/, or your own.")],
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the recipe's dataset.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the run; default runs/DATASET-MODEL.")
    ] = None,
    changes: Changes = None,
    start: Annotated[
        Path | None, typer.Option("--start", help="A ranker folder to start from (pre-training).")
    ] = None,
    vectors: Vectors = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write TensorBoard events into the run.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Train a ranker by a recipe; if it is stopped, run the same command again to resume."""
    from askonce.data.benchmarks import load_dataset
    from askonce.training.recipe import Before, dataset_of, read_recipe, read_table
    from askonce.training.run import run_recipe

    if data is None:
        raise AskonceError(f"--data names the folder of the dataset that {recipe} trains on")
    settings = read_recipe(recipe, changes or [])
    name = dataset_of(settings, recipe)
    folder = out or Path("runs") / f"{name}-{settings.model}"
    with training_progress(folder if tensorboard else None) as on_event:
        on_event(Phase(f"reading {name}"))
        dataset = load_dataset(name, data)
        beside = vectors or vectors_beside(data)
        before = start or Before(distil=read_table(recipe, "distil", changes or []))
        summary = run_recipe(settings, dataset, folder, beside, before, on_event)
    if not first_process():
        return
    if json:
        write_json(summary)
    else:
        _show(summary)


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


class OldSpelling(TyperGroup):
    """Understands ``askonce train RECIPE.toml``, which was the name of ``train-recipe``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - click's types
        """Read ``train`` with a recipe as ``train-recipe``."""
        verb, *rest = args
        if verb == "train" and any(argument.endswith(".toml") for argument in rest):
            typer.echo("note: to train a recipe, use `askonce train-recipe`", err=True)
            args = ["train-recipe", *rest]
        return super().resolve_command(ctx, args)
