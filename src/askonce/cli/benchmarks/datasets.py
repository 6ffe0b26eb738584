"""``askonce datasets``, ``stats`` and ``convert``: the benchmarks that can be read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from askonce.cli.options import DataFolder, JsonFlag, folder_only
from askonce.cli.output import console, first_line, show, write_json
from askonce.cli.progress import progress
from askonce.errors import AskonceError, ConfigError

if TYPE_CHECKING:
    from askonce.types import Dataset, Split

DatasetName = Annotated[str, Argument(help="A name from `askonce datasets`.")]


def datasets(json: JsonFlag = False) -> None:
    """List the datasets that can be read."""
    from askonce.data.benchmarks import DATASETS

    known = {name: first_line(DATASETS[name].__doc__) for name in DATASETS.names()}
    rows = [{"name": name, "about": about} for name, about in known.items()]
    show(rows, json, "\n".join(f"{name:<20} {about}" for name, about in known.items()))


def stats(dataset: DatasetName, data: DataFolder, json: JsonFlag = False) -> None:
    """Count the questions, pairs and relevant answers of a dataset."""
    from askonce.data.benchmarks import DATASETS, load_dataset

    name = DATASETS.resolve(dataset)
    with progress(f"reading {name}"):
        loaded = load_dataset(name, data)
    counts = {split: _count(pools) for split, pools in loaded.splits.items()}
    if json:
        write_json({"dataset": name, "candidates": len(loaded.posts), "splits": counts})
        return
    console().print(_table(loaded, counts))


def _count(pools: "Split") -> dict[str, Any]:
    positives = [len(pool.positives) for pool in pools]
    return {
        "questions": len(pools),
        "pairs": sum(len(pool.candidates) for pool in pools),
        "positives": sum(positives),
        "with_positive": sum(count > 0 for count in positives),
    }


def _table(dataset: "Dataset", counts: dict[str, dict[str, Any]]) -> Any:  # noqa: ANN401 - rich loads late
    from rich.table import Table

    title = f"{dataset.name} · {len(dataset.posts):,} candidates · protocol {dataset.protocol}"
    table = Table("split", title=title, title_justify="left")
    for name in ("questions", "pairs", "positives", "with positive"):
        table.add_column(name, justify="right")
    for split, row in counts.items():
        table.add_row(split, *(f"{value:,}" for value in row.values()))
    return table


def convert(
    dataset: DatasetName,
    data: DataFolder,
    out: Annotated[
        Path | None, Option(help="The BEIR folder to write; must be new.", callback=folder_only)
    ] = None,
    folder: Annotated[Path | None, Argument(hidden=True)] = None,
    json: JsonFlag = False,
) -> None:
    """Write a dataset as a BEIR folder, which `askonce` and other tools can read."""
    from askonce.data.benchmarks import DATASETS, load_dataset
    from askonce.data.benchmarks.beir import write_beir

    name = DATASETS.resolve(dataset)
    if folder is not None:
        typer.echo(f"note: write `--out {folder}`", err=True)
    folder = out or folder
    if folder is None:
        raise ConfigError("--out names the folder to write")
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise AskonceError(f"{str(folder)!r} exists and is not empty; name a new folder")
    with progress(f"reading {name}") as say:
        loaded = load_dataset(name, data)
        say(f"writing {folder}")
        write_beir(loaded, folder)
    result = {"dataset": name, "folder": str(folder), "splits": list(loaded.splits)}
    show(result, json, f"wrote {name} ({', '.join(loaded.splits)}) to {folder}")
