"""``askonce models`` and ``export-model``: list models; write one for other libraries."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from askonce.cli.options import JsonFlag, folder_only
from askonce.cli.output import console, first_line, write_json
from askonce.cli.progress import progress
from askonce.types import TaskName


def models(json: JsonFlag = False) -> None:
    """List the models and baselines by name."""
    from askonce.baselines import BASELINES
    from askonce.models import MODELS
    from askonce.models.base import Encoder

    rows = [
        {"name": name, "kind": "baseline", "about": first_line(BASELINES[name].__doc__)}
        for name in BASELINES.names()
    ]
    for name in MODELS.names():
        kind = "encoder" if issubclass(MODELS[name], Encoder) else "matcher"
        rows.append({"name": name, "kind": kind, "about": first_line(MODELS[name].__doc__)})
    if json:
        write_json(rows)
        return
    for row in rows:
        console().print(f"{row['name']:<20} {row['kind']:<9} {row['about']}")


def export_model(
    source: Annotated[Path, Argument(help="A ranker's folder, or an archive's.")],
    out: Annotated[Path, Option(help="Folder to write; must be new.", callback=folder_only)],
    to: Annotated[
        Literal["sentence-transformers", "onnx"], Option(help="The library to write for.")
    ] = "sentence-transformers",
    task: Annotated[TaskName, Option(help="Which encoder of an archive to write.")] = "questions",
    fast: Annotated[
        bool, Option("--fast", help="The archive's student, which serves while typing.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Write an encoder as a sentence-transformers or ONNX model, which needs no Askonce."""
    with progress(f"writing {out}"):
        if to == "onnx":
            from askonce.adapters.onnx import export_onnx as export
        else:
            from askonce.adapters.exporting import export_model as export
        name = export(source, out, task, fast)
    if json:
        write_json({"model": name, "to": to, "out": str(out)})
    else:
        console().print(f"wrote {name} to {out}", markup=False)
