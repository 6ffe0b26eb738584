"""``askonce index``: bring the indexes of an archive up to date, or rebuild them."""

from pathlib import Path
from typing import Annotated

import typer

from askonce.cli.ask import ArchivePlace, IndexAddress, WorkFolder
from askonce.cli.output import counted_progress, progress


def command(
    archive: ArchivePlace,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Discard the indexes and build them again.")
    ] = False,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            help="Encode posts with Ray on all cores: 'local', or the address of a cluster, "
            "HOST:6379. Run the command again to resume.",
            show_default=False,
        ),
    ] = None,
    index: IndexAddress = None,
    folder: WorkFolder = None,
) -> None:
    """Bring the indexes of an archive up to date. A running server does this by itself."""
    from askonce.engine import Engine

    if ray is not None:
        _encode(archive, ray, index, folder, rebuild)
    with (
        progress("indexing") as say,
        Engine.open(
            archive,
            index=index,
            folder=folder,
            exclusive=True,
            rebuild=rebuild and ray is None,
            on_event=say,
        ) as engine,
    ):
        status = engine.status()
    model = f", models {status.model}" if status.model else ""
    typer.echo(f"{status.posts:,} posts indexed up to change {status.indexed}{model}")


def _encode(
    archive: str, address: str, index: str | None, folder: Path | None, rebuild: bool
) -> None:
    from askonce.engine.bulk.encoding import encode_archive
    from askonce.engine.bulk.ray_encoding import RayEncoding

    with RayEncoding(address) as encode, counted_progress("encoding") as show:
        encode_archive(
            archive,
            encode,
            lambda event: show(event.text, event.done, event.total),
            index=index,
            folder=folder,
            rebuild=rebuild,
        )
