"""The datasets, word vectors and recipes that commands name."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from askonce.errors import ConfigError
from askonce.registry import nearest

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
    folder, name = packaged_recipes(), path.as_posix()
    named = folder / path.with_suffix(".toml")
    if path.exists() or path.is_absolute():
        return path
    if named.is_file():
        return named
    if "/" in name and path.suffix != ".toml":  # else a file, or a model
        names = [x.relative_to(folder).with_suffix("").as_posix() for x in folder.glob("*/*.toml")]
        raise ConfigError(f"no recipe {name!r}; {nearest(name, names)}")
    return path
