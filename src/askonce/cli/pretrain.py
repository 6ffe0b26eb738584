"""``askonce pretrain``: train an encoder, or CABIN's language models, without labels."""

from pathlib import Path
from typing import Annotated, Any

import typer

from askonce.cli.output import (
    DataFolder,
    JsonFlag,
    console,
    first_process,
    vectors_beside,
    write_json,
)
from askonce.cli.training_progress import (
    Changes,
    OutFolder,
    Vectors,
    open_recipe,
    training_progress,
)
from askonce.training.events import Phase


def command(
    recipe: Annotated[Path, typer.Argument(help="A TOML recipe with a [pretrain] table.")],
    data: DataFolder,
    out: OutFolder = None,
    changes: Changes = None,
    vectors: Vectors = None,
    json: JsonFlag = False,
) -> None:
    """Pre-train on texts alone, for `askonce train-recipe --start`; a stopped run resumes."""
    from askonce.data.benchmarks import load_dataset
    from askonce.training.pretraining.run import pretrain_recipe
    from askonce.training.recipe import read_table

    chosen, name, folder = open_recipe(recipe, changes, out, "pretrain")
    table = read_table(recipe, "pretrain", changes or []) or {}
    with training_progress() as on_event:
        on_event(Phase(f"reading {name}"))
        dataset = load_dataset(name, data)
        beside = vectors or vectors_beside(data)
        history = pretrain_recipe(chosen, table, dataset, folder, beside, on_event)
    if not first_process():
        return
    result: dict[str, Any] = {"model": chosen.model, "folder": str(folder), "history": history}
    if json:
        write_json(result)
        return
    console().print(
        f"saved in {folder}; start from it: askonce train-recipe {recipe} --start {folder}"
    )
