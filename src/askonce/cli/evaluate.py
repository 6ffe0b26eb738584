"""``askonce evaluate``: measure a TREC run file."""

from pathlib import Path
from typing import Annotated

import typer

from askonce.cli.output import JsonFlag, console, write_json
from askonce.types import ProtocolName

Protocol = Annotated[
    ProtocolName,
    typer.Option(
        "--protocol",
        help="Which queries count: all, those with both labels, those with a relevant one.",
    ),
]


def command(
    qrels: Annotated[Path, typer.Option("--qrels", help="Lines of `query 0 document relevance`.")],
    run: Annotated[
        Path, typer.Option("--run", help="Lines of `query Q0 document rank score tag`.")
    ],
    protocol: Protocol = "trec",
    ties: Annotated[
        str, typer.Option(help="Order of equal scores: trec, pessimistic, optimistic or expected.")
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
    if json:
        write_json({"queries": report.queries, "metrics": report.metrics})
        return
    console().print(f"{'queries':<10}{report.queries:>10,}")
    for metric, value in report.metrics.items():
        console().print(f"{metric:<10}{value:>10.4f}")
