"""Open an archive by folder, address, file or name."""

from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

from askonce.archive.database import is_address
from askonce.archive.load import load
from askonce.archive.store import Archive
from askonce.data.forums import Source
from askonce.data.forums.jsonl import read
from askonce.errors import AskonceError

BUILT_IN = "bicycles"


def open_archive(location: str | Path, folder: Path | None = None) -> Archive:
    """Open an archive by its folder or address, a JSONL file of posts, or the built-in archive.

    A file is read into memory, and any error in it is raised. ``folder`` is where this machine
    keeps the indexes and models of an archive with an address.
    """
    location = str(location)
    if is_address(location) or folder is not None or Path(location).is_dir():
        return Archive.open(location, folder=folder)
    if location == BUILT_IN:
        with resources.as_file(resources.files("askonce.data") / f"{BUILT_IN}.jsonl") as path:
            return _read_file(path)
    if not Path(location).is_file():
        raise AskonceError(
            f"no archive {location!r}; name a folder that `askonce import` made, a JSONL file, "
            f"or {BUILT_IN!r} for the built-in one"
        )
    return _read_file(Path(location))


def name_of(location: str | Path) -> str:
    """The name of an archive: that of its folder, file or database."""
    if is_address(str(location)):
        return urlsplit(str(location)).path.strip("/") or "archive"
    name = Path(location).name
    for suffix in (".gz", ".jsonl", ".askonce"):
        name = name.removesuffix(suffix)
    return name


def _read_file(path: Path) -> Archive:
    archive = Archive.in_memory(name_of(path))
    summary = load(archive, read(Source(path)), strict=True)
    if summary.unknown_links:
        raise AskonceError(
            f"{path.name}: expected links between known questions, "
            f"found {summary.unknown_links} of others"
        )
    if summary.circular_links:
        raise AskonceError(
            f"{path.name}: {summary.circular_links} links make a question a duplicate of itself; "
            "`askonce import` leaves them out"
        )
    return archive
