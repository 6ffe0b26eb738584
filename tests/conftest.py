"""What several tests share: where the benchmark data is, and posts of every awkward kind."""

import os
from pathlib import Path

import pytest

# small tensors on several threads wait for each other more than they compute
os.environ.setdefault("OMP_NUM_THREADS", "1")

DATA = Path(os.environ.get("ASKONCE_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of benchmark data; tests that need it are skipped where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"no benchmark data at {DATA}; set ASKONCE_DATA to its folder")
    return DATA


def pytest_terminal_summary(terminalreporter, config):
    """Say where the page's pictures are."""
    folder = config.rootpath / "build" / "screenshots"
    if folder.is_dir():
        terminalreporter.write_line(f"screenshots of the page: {folder}")
