"""``askonce stats``: the size of a dataset."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from askonce.cli.output import DataFolder, JsonFlag, console, progress, write_json

if TYPE_CHECKING:
    from askonce.types import Dataset, Split


def command(
    dataset: Annotated[str, typer.Argument(help="A name from `askonce datasets`.")],
    data: DataFolder,
    json: JsonFlag = False,
) -> None:
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
