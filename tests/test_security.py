"""Each promise of SECURITY.md names files that exist and hold tests."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
ROWS = re.findall(r"^\| (?!guarantee|---)(.+?) \| (`.+) \|$", TEXT, re.M)


def test_the_table_is_read():
    assert len(ROWS) >= 12


@pytest.mark.parametrize(("promise", "names"), ROWS, ids=[row[0][:40] for row in ROWS])
def test_every_promise_names_its_tests(promise, names):
    for name in re.findall(r"`([^`]+)`", names):
        path = ROOT / name
        files = sorted(path.glob("test_*.py")) if path.is_dir() else [path]
        assert files, f"{promise}: no tests in {name}"
        for file in files:
            assert file.is_file(), f"{promise}: {name} does not exist"
            text = file.read_text()
            assert "def test_" in text or file.parent.name == "benchmarks"
