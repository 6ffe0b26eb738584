"""``askonce export``: write an archive to files."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from askonce.cli.output import JsonFlag, console, progress, write_json
from askonce.errors import ConfigError


def command(
    archive: Annotated[str, typer.Argument(help="A folder that `askonce import` made.")],
    to: Annotated[
        Path, typer.Option(help="The file or folder to write; must be new.", show_default=False)
    ],
    form: Annotated[
        str, typer.Option("--format", help="jsonl (gzipped if the name ends in .gz) or beir.")
    ] = "jsonl",
    json: JsonFlag = False,
) -> None:
    """Write all posts and links as JSONL or as a BEIR folder; `askonce import` reads both."""
    from askonce.archive import open_archive
    from askonce.archive.database import without_password
    from askonce.archive.export import Format, export
    from askonce.registry import nearest

    if form not in get_args(Format):
        raise ConfigError(f"no format {form!r}; {nearest(form, get_args(Format))}")
    opened = open_archive(archive)
    with progress(f"writing {to}"):
        export(opened, to, form)  # type: ignore[arg-type]
    counts = opened.counts()
    if json:
        write_json({"archive": without_password(archive), "format": form, "to": str(to), **counts})
    else:
        posts = f"{counts['questions']:,} questions and {counts['answers']:,} answers"
        console().print(f"wrote {posts} to {to}", markup=False)
