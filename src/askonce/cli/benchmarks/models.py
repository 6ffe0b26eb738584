"""``askonce models`` and ``export-model``: list models; write one for other libraries."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from askonce.cli.options import JsonFlag, folder_only
from askonce.cli.output import first_line, show
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
    lines = (f"{row['name']:<20} {row['kind']:<9} {row['about']}" for row in rows)
    show(rows, json, "\n".join(lines))


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
    show({"model": name, "to": to, "out": str(out)}, json, f"wrote {name} to {out}")
