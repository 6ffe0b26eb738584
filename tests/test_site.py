"""The documentation site builds; a dead link or anchor is an error."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# a table or a list that the Markdown of the site takes for text, as no blank line is before it
UNREAD = re.compile(r"\|\s?---|^\s*(?:[-*]|\d+\.) ", re.M)


pytestmark = pytest.mark.slow  # building the site takes long


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_the_site_builds_without_a_dead_link(site):
    assert "Askonce" in (site / "index.html").read_text("utf-8")
    assert (site / "search" / "search_index.json").is_file()


def test_tables_and_lists_are_read_as_such(site):
    for page in site.rglob("*.html"):
        text = re.sub(r"<pre.*?</pre>", "", page.read_text("utf-8"), flags=re.S)
        for paragraph in re.findall(r"<(?:p|li)>(.*?)</(?:p|li)>", text, re.S):
            assert not UNREAD.search(paragraph), f"{page.name}: {paragraph[:200]}"


def test_nothing_is_loaded_from_another_site(site):
    text = (site / "index.html").read_text("utf-8")
    loaded = re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="([^"]+)"', text)
    assert loaded and not [address for address in loaded if "//" in address]
    assert 'data-md-component="source"' not in text  # the theme's script asks api.github.com
