"""``askonce bench``, ``report`` and ``evaluate``: measure rankers and show the results."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from askonce.cli.benchmarks.inputs import packaged_recipes, vectors_beside
from askonce.cli.options import DataFolder, JsonFlag, SkipDamaged, folder_only, is_stdout
from askonce.cli.output import console, show, write_json
from askonce.cli.progress import counted_progress
from askonce.errors import ConfigError
from askonce.types import ProtocolName

if TYPE_CHECKING:
    from askonce.bench.report.gains import Gain
    from askonce.bench.store import Store


def bench(
    datasets: Annotated[list[str], Argument(help="Names of `askonce datasets`.")],
    data: DataFolder,
    models: Annotated[
        str | None,
        Option(
            help="Comma-separated baselines, models (by their recipe, or else a default one), "
            "variants like "
            "hyperqa@model.dim=100, recipe files, minilm, cross-encoder, fusions like "
            "bm25+hyperqa. Default: all rows of the dataset."
        ),
    ] = None,
    seeds: Annotated[int, Option(min=1, help="Runs of each row that depends on chance.")] = 1,
    out: Annotated[
        Path,
        Option(
            help="The results store; its finished cells are not run again.", callback=folder_only
        ),
    ] = Path("runs/bench"),
    quick: Annotated[
        bool, Option("--quick", help="Short runs on few pools, to check that rows work.")
    ] = False,
    jobs: Annotated[
        int | None, Option(min=1, help="Cells to run at a time. Default: one per core.")
    ] = None,
    longest: Annotated[
        float, Option(help="A row whose first seed takes more minutes gets no others.")
    ] = 10.0,
    split: Annotated[list[str] | None, Option(help="Splits to report instead of test.")] = None,
    protocol: Annotated[ProtocolName | None, Option(help="Default: the dataset's own.")] = None,
    recipes: Annotated[Path, Option(help="Folder of recipes: DATASET/MODEL.toml.")] = Path(
        "recipes"
    ),
    vectors: Annotated[
        Path | None,
        Option(help="Word vectors; default glove* beside the data, else the starter's words."),
    ] = None,
    skip_damaged: SkipDamaged = False,
    json: JsonFlag = False,
    json_file: Annotated[Path | None, Option(hidden=True)] = None,
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
    recipes = recipes if recipes.is_dir() else packaged_recipes()
    setup = Setup(data, out, recipes, beside, tuple(split or ()), protocol, quick, skip_damaged)
    workers, threads = _shares(jobs)
    bench = Bench(setup, names, chosen, 1 if quick else seeds, workers, threads, 60 * longest)
    store = run_bench(bench, lambda line: typer.echo(line, err=True))
    made = tables(store, names)
    if json_file is not None:
        write_json(records(made), json_file)
    if json:
        write_json(records(made))
        return
    for table in made:
        console().print(terminal(table))


def _shares(jobs: int | None) -> tuple[int, int]:
    """Cells at a time, and threads of each, at most $OMP_NUM_THREADS.

    Small models gain little from several threads, and lose much where other processes want the
    cores: threads wait for each other.
    """
    import os

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = jobs or cores or 1
    share = max(1, (cores or 1) // workers)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return workers, min(share, int(limit)) if limit.isdigit() and int(limit) else share


def report(
    store: Annotated[Path, Argument(help="A folder written by `askonce bench --out`.")],
    out: Annotated[
        list[Path] | None,
        Option(
            help="A file to write; repeat for several. NAME.html is one self-contained page, "
            "NAME.md is Markdown with figures beside it, NAME.json has an entry per row and "
            "metric, and curves.json the dev figures by epoch. A name without an ending is a small "
            "store of figures and curves, to make the tables from later. - prints the tables."
        ),
    ] = None,
    readme: Annotated[
        Path | None, Option(help="Update the short table between the marks in this file.")
    ] = None,
    earlier: Annotated[
        Path | None,
        Option(
            help="NAME.json of other stores: NAME.json and --readme keep rows of theirs that "
            "this store lacks or has with fewer seeds, and lines of the table of gains. A "
            "curves.json that is there keeps the epochs of other rows."
        ),
    ] = None,
    archive: Annotated[
        list[Path] | None, Option(help="A trained archive to add to the table of gains.")
    ] = None,
    texts: Annotated[
        bool,
        Option(
            "--texts/--no-texts", help="Quote the datasets, or only those whose licence allows it."
        ),
    ] = True,
    json: JsonFlag = False,
) -> None:
    """Show benchmark results beside the papers' numbers, BM25 and MiniLM."""
    from askonce.bench.report.gains import all_gains
    from askonce.bench.report.results import records, summary_entries, tables, with_earlier
    from askonce.bench.report.table import short_table, terminal
    from askonce.bench.store import Store
    from askonce.files import json_value

    written = _by_ending(path for path in out or [] if not is_stdout(path))
    opened = Store(store)
    for folder in written[""]:
        opened.keep(folder)
    gains = all_gains(opened, archive or [])
    if written[".html"] or written[".md"]:
        _write_pages(opened, written, texts, gains)
    entries = summary_entries(tables(opened), opened) if written[".json"] or readme else []
    entries = with_earlier(entries, json_value(earlier) if earlier else [])
    _write_figures(opened, entries, written[".json"], keep=earlier is not None)
    if readme is not None:
        _write_readme(readme, short_table(entries), gains, earlier is not None)
    if json:
        write_json(records(tables(opened)))
    elif not (any(written.values()) or readme) or any(map(is_stdout, out or [])):
        for table in tables(opened):
            console().print(terminal(table))


def _by_ending(paths: Iterable[Path]) -> dict[str, list[Path]]:
    """The files to write, by what goes into them."""
    written: dict[str, list[Path]] = {".html": [], ".md": [], ".json": [], "": []}
    for path in paths:
        if path.suffix not in written:
            endings = ", ".join(filter(None, written))
            raise ConfigError(f"--out {path}: the name must end with {endings}, or have no ending")
        written[path.suffix].append(path)
    return written


def _write_figures(
    store: "Store", entries: Sequence[dict[str, Any]], paths: Iterable[Path], keep: bool
) -> None:
    """The entries as JSON, or the dev figures by epoch, as the name says.

    ``keep`` the epochs in such a file of cells that the store lacks.
    """
    from askonce.bench.report.histories import histories, joined
    from askonce.files import json_value

    for path in paths:
        if path.stem.endswith("curves"):
            before = json_value(path) if keep and path.is_file() else []
            write_json(joined(histories(store), before), path)
        else:
            write_json(entries, path)


def _write_readme(path: Path, results: str, gains: "Sequence[Gain]", keep: bool) -> None:
    """The short table; what you get, where the file has marks for it."""
    from askonce.bench.report.gains import markdown
    from askonce.bench.report.table import between_marks, put_between_marks

    put_between_marks(results, path)
    if "<!-- gains -->" in path.read_text("utf-8"):
        earlier = between_marks(path, "gains") if keep else ""
        put_between_marks(markdown(gains, earlier), path, "gains")


def _write_pages(
    store: "Store", written: Mapping[str, Sequence[Path]], texts: bool, gains: "Sequence[Gain]"
) -> None:
    from askonce.bench.report.document import blocks, html_page, markdown_page
    from askonce.bench.report.gains import with_gains

    with counted_progress("drawing") as on_progress:
        parts = with_gains(blocks(store, texts, on_progress), gains)
    for path in written[".html"]:
        path.write_text(html_page(store, parts), "utf-8")
    for path in written[".md"]:
        path.write_text(markdown_page(store, parts, path), "utf-8")


Protocol = Annotated[
    ProtocolName,
    Option(
        "--protocol",
        help="Which queries count: all, those with both labels, those with a relevant one.",
    ),
]


def evaluate(
    qrels: Annotated[Path, Option(help="Lines of `query 0 document relevance`.")],
    run: Annotated[Path, Option(help="Lines of `query Q0 document rank score tag`.")],
    protocol: Protocol = "trec",
    ties: Annotated[
        str, Option(help="Order of equal scores: trec, pessimistic, optimistic or expected.")
    ] = "trec",
    json: JsonFlag = False,
) -> None:
    """Measure a TREC run file against a qrels file, as trec_eval does."""
    from askonce.evaluation import evaluate, read_qrels, read_run

    report = evaluate(read_qrels(qrels), read_run(run), protocol, ties)  # type: ignore[arg-type]
    for count, what in (
        (report.unanswered, "queries of the qrels are not in the run and count as 0"),
        (report.ignored, "queries of the run are not in the qrels and are ignored"),
        (report.tied_positives, "relevant candidates tie with an irrelevant one"),
    ):
        if count:
            typer.echo(f"note: {count} {what}", err=True)
    lines = [f"{'queries':<10}{report.queries:>10,}"]
    lines += [f"{metric:<10}{value:>10.4f}" for metric, value in report.metrics.items()]
    show({"queries": report.queries, "metrics": report.metrics}, json, "\n".join(lines))
