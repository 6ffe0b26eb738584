"""``askonce index``: bring the indexes of an archive up to date, or make them anew."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from askonce.cli.output import progress
from askonce.errors import AskonceError


def command(
    archive: Annotated[Path, typer.Argument(help="An archive folder.")],
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Throw the indexes away and make them anew.")
    ] = False,
) -> None:
    """Bring the indexes of an archive up to date; a server does so by itself."""
    from askonce.archive import Archive
    from askonce.engine import Engine
    from askonce.engine.lock import FolderLock

    if not archive.is_dir():
        raise AskonceError(
            f"no archive folder {str(archive)!r}; `askonce import … --into {archive}` makes one"
        )
    Archive.open(archive).close()  # an error before anything is thrown away
    if rebuild:
        lock = FolderLock(archive / "index")
        if not lock.acquire():
            raise AskonceError(f"{lock.holder()} keeps the indexes; stop it first")
        for folder in (archive / "index").iterdir():
            if folder.is_dir():
                shutil.rmtree(folder)
        lock.release()
    with progress("indexing") as say, Engine.open(archive, exclusive=True, tell=say) as engine:
        status = engine.status()
    model = f", models {status.model}" if status.model else ""
    typer.echo(f"{status.posts:,} posts indexed up to change {status.indexed}{model}")
