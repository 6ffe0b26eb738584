"""``askonce convert``: write a dataset as a BEIR folder."""

from pathlib import Path
from typing import Annotated

import typer

from askonce.cli.output import DataFolder, JsonFlag, console, progress, write_json
from askonce.errors import AskonceError


def command(
    dataset: Annotated[str, typer.Argument(help="A name from `askonce datasets`.")],
    folder: Annotated[Path, typer.Argument(help="The BEIR folder to write; must not exist yet.")],
    data: DataFolder,
    json: JsonFlag = False,
) -> None:
    """Write a dataset as a BEIR folder, which `askonce` and other tools can read."""
    from askonce.data.benchmarks import DATASETS, load_dataset
    from askonce.data.benchmarks.beir import write_beir

    name = DATASETS.resolve(dataset)
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise AskonceError(f"{str(folder)!r} exists and is not empty; name a new folder")
    with progress(f"reading {name}") as say:
        loaded = load_dataset(name, data)
        say(f"writing {folder}")
        write_beir(loaded, folder)
    result = {"dataset": name, "folder": str(folder), "splits": list(loaded.splits)}
    if json:
        write_json(result)
    else:
        console().print(f"wrote {name} ({', '.join(loaded.splits)}) to {folder}")
