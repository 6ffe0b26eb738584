"""The datasets, word vectors and recipes that commands name."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from askonce.types import Dataset


def load_checked(name: str, folder: Path, skip_damaged: bool) -> "Dataset":
    """Read a dataset; damaged lines are an error, or skipped and counted on stderr."""
    from askonce.data.benchmarks import load_dataset
    from askonce.files import damaged_lines, skipping_damaged

    if not skip_damaged:
        return load_dataset(name, folder)
    with skipping_damaged() as errors:
        dataset = load_dataset(name, folder)
    for line in damaged_lines(name, errors):
        typer.echo(line, err=True)
    return dataset


def vectors_beside(data: Path) -> Path | None:
    """A folder of GloVe vectors in the data folder or its parent."""
    folders = (data, data.resolve().parent)
    return next((path for folder in folders for path in sorted(folder.glob("glove*"))), None)


def packaged_recipes() -> Path:
    """The folder of the recipes that come with the package, or are in the repository."""
    package = Path(__file__).parents[2]
    folders = (package / "recipes", package.parents[1] / "recipes")
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def packaged_recipe(path: Path) -> Path:
    """The recipe at a path or, if nothing is there, the package's recipe of that name."""
    named = packaged_recipes() / path.with_suffix(".toml")
    return named if not path.exists() and not path.is_absolute() and named.is_file() else path
