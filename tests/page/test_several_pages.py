"""The list of archives, the search over all of them, and the page of each below its name."""

from urllib.parse import urlsplit

import pytest

from askonce.archive import Archive
from askonce.engine import Engine
from askonce.server import ServerSettings
from askonce.server.guard.hosts import AllowedHosts
from askonce.server.guard.keys import read_keys
from askonce.server.service import Service
from askonce.server.several.app import create_several_app
from askonce.server.several.members import Member
from askonce.types import Post
from tests.page.test_page_access import CONTRAST, FAULTS
from tests.server.conftest import running_app

READER = "a-key-of-a-cook-0001"
COOKING = [
    Post("q1", "How do I clean a rusty pan?", "It was left in the rain."),
    Post("a1", "", "Salt, oil and patience.", kind="answer", parent="q1"),
]


@pytest.fixture(scope="module")
def members():
    """Two archives that everyone may read, and one for readers with a key."""
    archive = Archive.in_memory("cooking")
    archive.write(COOKING)
    opened = ServerSettings(one_of_several=True)
    locked = ServerSettings(keys=read_keys({"ASKONCE_READ_KEY": READER}), one_of_several=True)
    with Engine.open("bicycles") as bikes, Engine(archive) as cooking:
        cooking.start(background=False)
        yield [
            Member("bikes", Service(bikes, opened)),
            Member("cooking", Service(cooking, opened)),
            Member("recipes", Service(cooking, locked)),
        ]


@pytest.fixture(scope="module")
def address(members):
    with running_app(create_several_app(members, AllowedHosts())) as client:
        yield str(client.base_url)


def test_from_the_list_to_a_hit_and_back(open_page, address, picture):
    page = open_page(address)
    assert page.get_by_role("link", name="bikes").is_visible()
    page.keyboard.type("clean a rusty chain")
    page.keyboard.press("Enter")
    hit = page.get_by_label("Similar questions").locator(".hit").first
    hit.wait_for()
    tags = page.get_by_label("Similar questions").locator(".tag").all_inner_texts()
    assert tags[:3] == ["bikes", "cooking", "bikes"]
    assert page.evaluate(CONTRAST) == page.evaluate(FAULTS) == []
    picture(page, "archives")

    paths = []
    page.on("request", lambda request: paths.append(urlsplit(request.url).path))
    hit.locator("h3 a").click()
    page.locator(".whole-thread").wait_for()
    page.get_by_role("link", name="Model").click()
    page.get_by_text("BM25, no model yet").wait_for()
    assert "/bikes/static/page.js" in paths and "/bikes/api/page" in paths
    assert len(paths) > 10 and all(path.startswith("/bikes/") for path in paths), paths
    page.get_by_role("link", name="All archives").click()
    page.get_by_label("Archives").wait_for()
    assert urlsplit(page.url).path == "/"


def test_the_key_of_one_archive_is_not_sent_to_another(open_page, address, trouble):
    trouble.expected += ["401"]
    page = open_page(address + "/recipes/?q=rusty+pan")
    page.get_by_label("API key").fill(READER)
    page.get_by_role("button", name="Use this key").click()
    page.locator(".hit").first.wait_for()
    keys = []
    page.on("request", lambda request: keys.append(request.headers.get("x-api-key")))
    page.goto(address + "/bikes/?q=rusty+chain")
    page.locator(".hit").first.wait_for()
    page.goto(address + "/?q=rusty")
    page.get_by_label("Similar questions").locator(".hit").first.wait_for()
    assert set(keys) == {None}


def test_an_archive_that_cannot_be_served_is_named(open_page, address, members, monkeypatch):
    monkeypatch.setattr(members[1], "error", "its indexes are damaged")
    page = open_page(address + "/?q=rusty")
    page.get_by_label("Similar questions").locator(".hit").first.wait_for()
    assert "cooking was not searched" in page.locator("#results").inner_text()
    archives = page.get_by_label("Archives")
    assert "Cannot be served now" in archives.inner_text()
    assert archives.get_by_role("link", name="cooking").count() == 0
