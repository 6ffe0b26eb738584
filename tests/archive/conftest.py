"""An archive of every kind: in a folder, in memory, on PostgreSQL."""

from itertools import count

import pytest

from askonce.archive import Archive


@pytest.fixture(params=["folder", "postgres"])
def new_place(request, tmp_path):
    """A function that gives the place of an archive to be made, which processes can share."""
    numbers = count()
    if request.param == "folder":
        return lambda: tmp_path / f"{next(numbers)}.askonce"
    return request.getfixturevalue("postgres").new


@pytest.fixture(params=["folder", "memory", "postgres"])
def archive(request, tmp_path):
    if request.param == "memory":
        opened = Archive.in_memory()
    elif request.param == "folder":
        opened = Archive.open(tmp_path / "x.askonce", create=True)
    else:
        opened = Archive.open(request.getfixturevalue("postgres").new(), create=True)
    yield opened
    opened.close()
