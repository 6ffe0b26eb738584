"""``askonce report``: a results store as an HTML page, Markdown or JSON."""

from pathlib import Path
from typing import Annotated

import typer

from askonce.cli.output import JsonFlag, console, counted_progress, write_json


def command(
    store: Annotated[Path, typer.Argument(help="A folder written by `askonce bench --out`.")],
    html: Annotated[
        Path | None, typer.Option("--html", help="Write one self-contained page to this file.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", help="Write Markdown to this file, figures beside it."),
    ] = None,
    summary: Annotated[
        Path | None, typer.Option("--summary", help="Write one JSON entry per row and metric.")
    ] = None,
    readme: Annotated[
        Path | None,
        typer.Option("--readme", help="Write the short table between the marks in this file."),
    ] = None,
    earlier: Annotated[
        Path | None,
        typer.Option(
            "--earlier", help="A summary of other stores: --summary and --readme keep its rows."
        ),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts/--no-texts", help="Include figures that quote the datasets.")
    ] = True,
    json: JsonFlag = False,
) -> None:
    """Show benchmark results beside the papers' numbers, BM25 and MiniLM."""
    from askonce.bench.report.document import blocks, html_page, markdown_page
    from askonce.bench.report.results import records, summary_entries, tables, with_earlier
    from askonce.bench.report.table import put_between_marks, short_table, terminal
    from askonce.bench.store import Store
    from askonce.files import json_value

    opened = Store(store)
    with counted_progress("drawing") as on_progress:
        parts = blocks(opened, texts, on_progress) if html or markdown else []
    if html is not None:
        html.write_text(html_page(opened, parts), "utf-8")
    if markdown is not None:
        markdown.write_text(markdown_page(opened, parts, markdown), "utf-8")
    entries = summary_entries(tables(opened), opened) if summary or readme else []
    entries = with_earlier(entries, json_value(earlier) if earlier else [])
    if summary is not None:
        write_json(entries, summary)
    if readme is not None:
        put_between_marks(short_table(entries), readme)
    if json:
        write_json(records(tables(opened)))
    elif not (html or markdown or summary or readme):
        for table in tables(opened):
            console().print(terminal(table))
