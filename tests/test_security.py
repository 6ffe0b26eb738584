"""Each promise of SECURITY.md names tests that exist."""

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
    file = None  # a name without a file belongs to the file before it
    for name in re.findall(r"`([^`]+)`", names):
        path, _, test = name.rpartition("::")
        if name.startswith("benchmarks/"):
            assert (ROOT / name).is_file(), f"{promise}: {name} does not exist"
            continue
        file = ROOT / path if path else file
        assert file is not None and file.is_file(), f"{promise}: {name} does not exist"
        assert f"def {test}(" in file.read_text(), f"{promise}: no {test} in {file.name}"
