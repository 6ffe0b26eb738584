"""``askonce report``: a results store as a page, as Markdown, as JSON."""

from pathlib import Path
from typing import Annotated

import typer

from askonce.cli.output import JsonFlag, console, counted_progress, write_json


def command(
    store: Annotated[Path, typer.Argument(help="The folder that `askonce bench --out` wrote.")],
    html: Annotated[
        Path | None, typer.Option("--html", help="Write one self-contained page to this file.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", help="Write Markdown to this file, pictures beside it."),
    ] = None,
    summary: Annotated[
        Path | None, typer.Option("--summary", help="Write one JSON entry per row and metric.")
    ] = None,
    readme: Annotated[
        Path | None,
        typer.Option("--readme", help="Put the small table between the marks of this file."),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts/--no-texts", help="Show figures that quote the datasets.")
    ] = True,
    json: JsonFlag = False,
) -> None:
    """Show the results of benches beside the papers' numbers, BM25 and MiniLM."""
    from askonce.bench.report.document import blocks, html_page, markdown_page
    from askonce.bench.report.results import records, tables
    from askonce.bench.report.results import summary as entries
    from askonce.bench.report.short_table import put_between_marks, short_table
    from askonce.bench.report.table import terminal
    from askonce.bench.store import Store

    opened = Store(store)
    with counted_progress("drawing") as tell:
        parts = blocks(opened, texts, tell) if html or markdown else []
    if html is not None:
        html.write_text(html_page(opened, parts), "utf-8")
    if markdown is not None:
        markdown.write_text(markdown_page(opened, parts, markdown), "utf-8")
    if summary is not None:
        write_json(entries(tables(opened), opened), summary)
    if readme is not None:
        put_between_marks(short_table(entries(tables(opened), opened)), readme)
    if json:
        write_json(records(tables(opened)))
    elif not (html or markdown or summary or readme):
        for table in tables(opened):
            console().print(terminal(table))
