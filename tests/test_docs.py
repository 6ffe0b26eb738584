"""The docs say what the program does: examples run, generated pages are fresh."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from askonce.bench.table import markdown
from askonce.cli.reference import pages

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", sorted(pages()))
def test_generated_pages_are_fresh(name):
    found = (ROOT / "docs" / "reference" / name).read_text("utf-8")
    assert found == pages()[name], "run `make docs`"


def test_the_example_of_the_readme_prints_what_it_shows():
    text = (ROOT / "README.md").read_text("utf-8")
    code, shown = re.search(r"```python\n(.*?)```\n```text\n(.*?)```", text, re.S).groups()
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == shown.strip()


def test_the_tutorial_s_python_runs(tmp_path):
    text = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True)


def test_the_table_of_the_readme_is_that_of_the_stored_results():
    rows = json.loads((ROOT / "docs" / "results" / "baselines.json").read_text("utf-8"))
    assert markdown(rows) in (ROOT / "README.md").read_text("utf-8")
