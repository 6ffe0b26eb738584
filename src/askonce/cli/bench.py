"""``askonce bench``: rankers side by side on a dataset."""

from pathlib import Path
from typing import Annotated, Any

import typer

from askonce.cli.output import DataFolder, console, progress, vectors_beside, write_json
from askonce.types import ProtocolName

EVERY_BASELINE = "random,bm25,tfidf,word-vectors,overlap,svm"


def command(
    datasets: Annotated[list[str], typer.Argument(help="Names of `askonce datasets`.")],
    data: DataFolder,
    models: Annotated[
        str, typer.Option("--models", help="Names of `askonce models`, with commas.")
    ] = EVERY_BASELINE,
    split: Annotated[str, typer.Option("--split", help="The split or role to report.")] = "test",
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="Runs of what depends on chance.")
    ] = 1,
    protocol: Annotated[
        ProtocolName | None, typer.Option("--protocol", help="Instead of the dataset's own.")
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option("--vectors", help="Word vectors; else glove* beside the data, else trained."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file; - is stdout.")
    ] = None,
    runs: Annotated[
        Path | None, typer.Option("--runs", help="Write TREC run and qrels files to this folder.")
    ] = None,
) -> None:
    """Rank the pools of datasets with several models and print their figures side by side."""
    from askonce.bench.run import Cell, Plan, run_dataset
    from askonce.bench.table import records, table
    from askonce.datasets import DATASETS, load_dataset

    names = [name.strip() for name in models.split(",") if name.strip()]
    plan = Plan(names, split, seeds, protocol, vectors or vectors_beside(data))
    written: list[dict[str, Any]] = []
    for name in [DATASETS.resolve(name) for name in datasets]:
        with progress(f"reading {name}") as say:
            dataset = load_dataset(name, data)
            cells: list[Cell] = list(run_dataset(dataset, plan, say))
        written += records(cells)
        if runs is not None:
            _write_runs(runs, cells, dataset.split(split))
        if str(json) != "-":
            console().print(table(cells))
    if json is not None:
        write_json(written, json)


def _write_runs(folder: Path, cells: "list[Any]", pools: Any) -> None:  # noqa: ANN401 - types load late
    from askonce.evaluation import pools_to_qrels, write_qrels, write_run

    folder.mkdir(parents=True, exist_ok=True)
    for cell in cells:
        write_qrels(folder / f"{cell.dataset}.{cell.split}.qrels", pools_to_qrels(pools))
        for seed, run in zip(cell.seeds, cell.runs, strict=True):
            name = f"{cell.dataset}.{cell.split}.{cell.model}.{seed}.run"
            write_run(folder / name, run, cell.model)
