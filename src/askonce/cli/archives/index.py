"""``askonce index``: bring the indexes of an archive up to date, or rebuild them."""

from pathlib import Path
from typing import Annotated

from typer import Option

from askonce.cli.options import ArchiveLocation, IndexAddress, JsonFlag, WorkFolder
from askonce.cli.output import show
from askonce.cli.progress import counted_progress, engine_progress


def index(
    archive: ArchiveLocation,
    rebuild: Annotated[
        bool, Option("--rebuild", help="Discard the indexes and build them again.")
    ] = False,
    ray: Annotated[
        str | None,
        Option(
            help="Encode posts with Ray on all cores: 'local', or the address of a cluster, "
            "HOST:6379. Run the command again to resume."
        ),
    ] = None,
    read: Annotated[
        bool,
        Option(
            "--read",
            help="Let the teacher read all posts that only its student has read; a server does "
            "this in the background. Run the command again to resume.",
        ),
    ] = False,
    index: IndexAddress = None,
    folder: WorkFolder = None,
    json: JsonFlag = False,
) -> None:
    """Bring the indexes of an archive up to date. A running server does this by itself."""
    from askonce.engine import Engine

    if ray is not None:
        _encode(archive, ray, index, folder, rebuild)
    with (
        engine_progress("indexing") as on_event,
        Engine.open(
            archive,
            index=index,
            folder=folder,
            exclusive=True,
            rebuild=rebuild and ray is None,
            on_event=on_event,
        ) as engine,
    ):
        if read:
            engine.read_all()
        status = engine.status()
    model = f", models {status.model}" if status.model else ""
    share = "" if status.read is None else f", {status.read:.0%} read by the teacher"
    text = f"{status.posts:,} posts indexed up to change {status.indexed}{model}{share}"
    show(status.model_dump(), json, text)


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
