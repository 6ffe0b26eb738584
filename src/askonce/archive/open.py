"""An archive by whatever names it."""

from importlib import resources
from pathlib import Path

from askonce.archive.database import is_address
from askonce.archive.load import load
from askonce.archive.store import Archive
from askonce.data.forums import Source
from askonce.data.forums.jsonl import read
from askonce.errors import AskonceError

BUILT_IN = "bicycles"


def open_archive(place: str | Path, folder: Path | None = None) -> Archive:
    """An archive by its folder or address, a JSONL file of posts, or the built-in one by its name.

    A file is read into memory, and anything wrong with it is an error. ``folder`` is where this
    machine keeps the indexes and models of an archive with an address.
    """
    place = str(place)
    if is_address(place) or folder is not None or Path(place).is_dir():
        return Archive.open(place, folder=folder)
    if place == BUILT_IN:
        with resources.as_file(resources.files("askonce.data") / f"{BUILT_IN}.jsonl") as path:
            return _read_file(path)
    if not Path(place).is_file():
        raise AskonceError(
            f"no archive {place!r}; name a folder that `askonce import` made, a JSONL file, "
            f"or {BUILT_IN!r} for the built-in one"
        )
    return _read_file(Path(place))


def _read_file(path: Path) -> Archive:
    archive = Archive.in_memory(path.name.removesuffix(".gz").removesuffix(".jsonl"))
    summary = load(archive, read(Source(path)), strict=True)
    if summary.unknown_links:
        raise AskonceError(
            f"{path.name}: expected links between known questions, "
            f"found {summary.unknown_links} of others"
        )
    return archive
