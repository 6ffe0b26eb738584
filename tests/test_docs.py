"""The docs say what the program does: examples run, generated pages are fresh."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

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
