"""``askonce bench``: compare rankers on datasets; results go into a store."""

from pathlib import Path
from typing import Annotated

import typer

from askonce.cli.output import DataFolder, console, vectors_beside, write_json
from askonce.types import ProtocolName


def command(
    datasets: Annotated[list[str], typer.Argument(help="Names of `askonce datasets`.")],
    data: DataFolder,
    models: Annotated[
        str | None,
        typer.Option(
            "--models",
            help="Comma-separated baselines, models with a recipe, variants like "
            "hyperqa@model.dim=100, recipe files, minilm, cross-encoder, fusions like "
            "bm25+hyperqa. Default: all rows of the dataset.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="Runs of each row that depends on chance.")
    ] = 1,
    out: Annotated[
        Path,
        typer.Option("--out", help="The results store; its finished cells are not run again."),
    ] = Path("runs/bench"),
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Short runs on few pools, to check that rows work."),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="Cells to run at a time. Default: one per core."),
    ] = None,
    longest: Annotated[
        float,
        typer.Option("--longest", help="A row whose first seed takes more minutes gets no others."),
    ] = 10.0,
    split: Annotated[
        list[str] | None, typer.Option("--split", help="Splits to report instead of test.")
    ] = None,
    protocol: Annotated[
        ProtocolName | None,
        typer.Option("--protocol", help="Default: the dataset's own."),
    ] = None,
    recipes: Annotated[
        Path, typer.Option("--recipes", help="Folder of recipes: DATASET/MODEL.toml.")
    ] = Path("recipes"),
    vectors: Annotated[
        Path | None,
        typer.Option(
            "--vectors", help="Word vectors; default glove* beside the data, else trained."
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file; - is stdout.")
    ] = None,
) -> None:
    """Train and measure several models on datasets; repeat the command to resume it."""
    from askonce.bench.data import Setup
    from askonce.bench.plan import Bench
    from askonce.bench.report.results import records, tables
    from askonce.bench.report.table import terminal
    from askonce.bench.run import run_bench
    from askonce.data.benchmarks import DATASETS

    names = [DATASETS.resolve(name) for name in datasets]
    chosen = tuple(name.strip() for name in (models or "").split(",") if name.strip())
    beside = vectors or vectors_beside(data)
    setup = Setup(data, out, recipes, beside, tuple(split or ()), protocol, quick)
    workers, threads = _shares(jobs)
    bench = Bench(setup, names, chosen, 1 if quick else seeds, workers, threads, 60 * longest)
    store = run_bench(bench, lambda line: typer.echo(line, err=True))
    made = tables(store, names)
    if json is not None:
        write_json(records(made), json)
    if str(json) != "-":
        for table in made:
            console().print(terminal(table))


def _shares(jobs: int | None) -> tuple[int, int]:
    """Cells at a time, and threads of each: small models gain little from several threads."""
    import os

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = jobs or cores or 1
    return workers, max(1, (cores or 1) // workers)
