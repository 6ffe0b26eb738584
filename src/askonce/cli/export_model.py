"""``askonce export-model``: an encoder as a folder that other libraries load."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from askonce.cli.output import JsonFlag, console, progress, write_json

TaskName = Literal["questions", "answers"]


def command(
    source: Annotated[Path, typer.Argument(help="A ranker's folder, or an archive's.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write; must be new.")],
    to: Annotated[
        Literal["sentence-transformers"], typer.Option("--to", help="The library to write for.")
    ] = "sentence-transformers",
    task: Annotated[
        TaskName, typer.Option("--task", help="Which encoder of an archive to write.")
    ] = "questions",
    json: JsonFlag = False,
) -> None:
    """Write an adapter or a teacher as a sentence-transformers model, which needs no Askonce."""
    from askonce.adapters.exporting import export_model

    with progress(f"writing {out}"):
        name = export_model(source, out, task)
    if json:
        write_json({"model": name, "to": to, "out": str(out)})
    else:
        console().print(f"wrote {name} to {out}", markup=False)
