"""The widget on the page of another origin, under a strict content-security policy."""

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import askonce.server
from askonce.engine import Engine
from askonce.server import Keys, ServerSettings
from askonce.server.guard.keys import read_keys
from askonce.types import Post
from tests.server.conftest import running
from tests.sync.conftest import serving

WIDGET = Path(askonce.server.__file__).parent / "static" / "widget.js"
LARGEST = 15_000  # bytes
KEY = "a-key-of-the-forum-01"
SITE_STYLE = b""":root { --askonce-accent: rgb(200, 0, 100) }
body { max-width: 36rem; margin: 1.5rem auto; font: 1rem/1.4 sans-serif }
input { display: block; box-sizing: border-box; width: 100%; margin-top: .25rem }
input { padding: .5rem; font: inherit }
"""
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A forum</title>
<link rel="stylesheet" href="/site.css">
<label for="title">Title of your question</label> <input id="title">
<section aria-label="Search our answers" id="search"></section>
<script src="{server}widget.js" data-input="{selector}" data-key="{key}" async></script></html>"""


@pytest.fixture(scope="module")
def engine():
    with Engine.open("bicycles") as engine:
        yield engine


@pytest.fixture
def site():
    """Starts a site of another origin; its page uses the widget of a server that it names."""
    with ExitStack() as stack:
        shown = {}

        def answer(handler):
            if handler.path == "/site.css":
                handler.reply(200, SITE_STYLE, Content_Type="text/css")
                return
            policy = (
                f"default-src 'none'; script-src {shown['server']}; "
                f"connect-src {shown['server']}; style-src 'self'"
            )
            handler.reply(
                200,
                PAGE.format(**shown).encode() if handler.path == "/" else b"",
                Content_Type="text/html",
                Content_Security_Policy=policy,
            )

        address = stack.enter_context(serving(answer))

        def show(server, selector="#title", key=""):
            shown.update(server=server, selector=selector, key=key)
            return address

        show.address = address
        show.stack = stack
        yield show


def serve(site, engine, **settings):
    client = site.stack.enter_context(running(engine, ServerSettings(**settings)))
    return str(client.base_url).rstrip("/") + "/"


def test_its_size(capsys):
    size = WIDGET.stat().st_size
    with capsys.disabled():
        sys.stdout.write(f"\nwidget.js: {size:,} bytes\n")
    assert size < LARGEST


def test_similar_questions_appear_on_an_allowed_site(site, engine, open_page, picture):
    server = serve(site, engine, origins=(site.address,))
    page = open_page(site(server), width=640, height=440)
    box = page.get_by_label("Title of your question")
    box.fill("clean disc brake rotors")
    option = page.get_by_role("option").first
    option.wait_for()
    assert option.inner_text().startswith("What can I use to clean disc brake rotors?")
    assert option.get_attribute("href") == f"{server}?post=q001"
    assert box.get_attribute("aria-expanded") == "true"
    assert page.get_by_role("listbox", name="Similar questions").is_visible()
    assert "similar questions" in page.get_by_role("status").inner_text()
    colour = option.locator(".askonce-title").evaluate("e => getComputedStyle(e).color")
    assert colour == "rgb(200, 0, 100)"  # by the site's variable
    page.keyboard.press("ArrowDown")
    picture(page, "widget")
    chosen = page.locator("#" + box.get_attribute("aria-activedescendant"))
    assert chosen.get_attribute("aria-selected") == "true"
    with page.context.expect_page() as opened:
        page.keyboard.press("Enter")
    assert opened.value.url == f"{server}?post=q001"
    page.bring_to_front()
    page.keyboard.press("Escape")
    assert page.get_by_role("listbox").count() == 0
    assert box.input_value() == "clean disc brake rotors"
    page.keyboard.press("ArrowDown")  # opens it again
    assert page.get_by_role("listbox").is_visible()


def test_arrows_move_between_the_lines_of_a_textarea_that_was_added_later(site, engine, open_page):
    page = open_page(site(serve(site, engine, origins=(site.address,))))
    page.evaluate(
        """() => {
            const area = document.createElement("textarea");
            area.setAttribute("aria-label", "Text");
            document.body.append(area);
            askonce.attach(area);
            askonce.attach(area);
        }"""
    )
    box = page.get_by_label("Text", exact=True)
    box.fill("clean disc brake\nrotors")
    page.get_by_role("option").first.wait_for()
    assert page.locator(".askonce-list").count() == 2  # one is that of the title
    for key in ("ArrowUp", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    assert box.get_attribute("aria-activedescendant") is None
    assert box.evaluate("e => e.selectionEnd") < len("clean disc brake\n")
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant") is not None


def test_another_site_is_refused_and_its_page_goes_on(site, engine, open_page, trouble):
    server = serve(site, engine, origins=("https://another.example",))
    page = open_page(site(server))
    trouble.expected += ["CORS policy", "net::ERR_FAILED"]
    page.evaluate(
        "addEventListener('askonce:error', () => document.body.setAttribute('data-failed', ''))"
    )
    page.get_by_label("Title of your question").fill("clean disc brake rotors")
    page.locator("body[data-failed]").wait_for()
    assert page.get_by_role("option").count() == 0
    assert any("CORS policy" in text for text in trouble.seen)


def test_a_key_serves_one_origin_with_its_own_rate(site, engine, open_page, tmp_path, http):
    file = tmp_path / "keys"
    file.write_text(f"read another-key-of-readers\nread {KEY} {site.address} 0.001\n")
    keys = read_keys({}, file)
    server = serve(site, engine, keys=keys)
    page = open_page(site(server, key=KEY))
    page.get_by_label("Title of your question").fill("clean disc brake rotors")
    page.get_by_role("option").first.wait_for()

    def ask(**headers):
        headers = {"Authorization": f"Bearer {KEY}"} | headers
        return http.get(f"{server}api/similar?q=brakes", headers=headers)

    assert ask().status_code == 403
    assert ask(Origin="https://another.example").status_code == 403
    assert ask(Origin=site.address).status_code == 429  # the widget has asked; others go on
    other = {"Authorization": "Bearer another-key-of-readers"}
    assert http.get(f"{server}api/similar?q=brakes", headers=other).status_code == 200


def test_a_search_box_for_documentation(site, engine, open_page):
    server = serve(site, engine, origins=(site.address,))
    page = open_page(site(server, selector="#search"))
    source = {"url": "https://x.example/1", "author": "Ada", "site": "x.example", "licence": "CC0"}
    engine.write([Post("z", "Zebrafish in the hub", **source)])
    box = page.get_by_role("searchbox", name="Search our answers").or_(
        page.get_by_role("combobox", name="Search our answers")
    )
    box.fill("zebrafish in the hub")
    option = page.get_by_role("option", name="Zebrafish in the hub")
    option.wait_for()
    assert option.get_attribute("href") == source["url"]  # where it was published
    assert "Ada on x.example, CC0" in option.inner_text()
    engine.delete(["z"])
    box.fill("squealing brakes")
    option.wait_for(state="detached")
    with page.context.expect_page() as opened:
        page.keyboard.press("Enter")
    assert opened.value.url == f"{server}?q=squealing%20brakes"


def test_only_allowed_origins_may_frame_the_page(site, engine, http):
    closed = http.get(serve(site, engine, keys=Keys()))
    assert "frame-ancestors 'none'" in closed.headers["content-security-policy"]
    assert closed.headers["x-frame-options"] == "DENY"
    assert "access-control-allow-origin" not in closed.headers
    framed = http.get(serve(site, engine, origins=(site.address,)))
    policy = framed.headers["content-security-policy"]
    assert f"frame-ancestors 'self' {site.address}" in policy
    assert "x-frame-options" not in framed.headers
