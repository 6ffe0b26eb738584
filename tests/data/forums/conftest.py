from pathlib import Path

import pytest

from askonce.archive import Archive, load
from askonce.data.forums import IMPORTERS, Source


@pytest.fixture
def imported():
    """Import into a new archive in memory, and once more, which must change nothing."""
    opened = []

    def run(form, location, strict=False, **options):
        archive = Archive.in_memory()
        opened.append(archive)
        summary = load(archive, read(form, location, **options), strict=strict)
        again = load(archive, read(form, location, **options))
        assert (again.added, again.changed, again.unchanged) == (0, 0, summary.added)
        assert (again.damaged, again.links) == (summary.damaged, summary.links)
        assert (
            len(archive.snapshot().answers) == archive.counts()["answers"]
        )  # none lacks its question
        return archive, summary

    yield run
    for archive in opened:
        archive.close()


def read(form, location, **options):
    return IMPORTERS[form](Source(location and Path(location), **options))
