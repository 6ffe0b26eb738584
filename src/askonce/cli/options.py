"""Options and arguments that several commands have."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

ARCHIVE = (
    "An archive folder, a postgresql:// address, a JSONL file of posts, or 'bicycles' for the "
    "built-in archive."
)


def is_stdout(path: Path | None) -> bool:
    return str(path) == "-"


def folder_only(path: Path | None) -> Path | None:
    """Refuse ``--out -`` where a folder is written."""
    if is_stdout(path):
        raise typer.BadParameter("a folder is written; stdout cannot take it")
    return path


JsonFlag = Annotated[bool, Option("--json", help="Print the result as JSON.")]
ArchiveLocation = Annotated[str, Argument(help=ARCHIVE)]
WorkFolder = Annotated[
    Path | None,
    Option(
        "--folder",
        help="Folder for the indexes and models of an archive in a database. "
        "Default: NAME.askonce in the current folder.",
        show_default=False,
    ),
]
IndexAddress = Annotated[
    str | None,
    Option(
        "--index",
        help="Use Milvus: NAME.db for milvus-lite, http://… for a server. "
        "Default: indexes in the archive's folder.",
        show_default=False,
    ),
]
MappingFile = Annotated[
    Path | None, Option("--map", help="For mapped: the TOML file that names the fields.")
]
DataFolder = Annotated[
    Path, Option("--data", help="Folder of the dataset, or its parent.", show_default=False)
]
SkipDamaged = Annotated[
    bool,
    Option("--skip-damaged", help="Skip and count damaged lines of csv, jsonl or beir data."),
]
