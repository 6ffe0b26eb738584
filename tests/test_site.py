"""The documentation site builds; a dead link or anchor is an error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_site_builds_without_a_dead_link(tmp_path):
    pytest.importorskip("mkdocs", reason="mkdocs-material is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Askonce" in (tmp_path / "site" / "index.html").read_text("utf-8")
    assert (tmp_path / "site" / "search" / "search_index.json").is_file()
