"""For everyone: keyboard only, contrast, names, phone width, both themes; and the screenshots."""

from pathlib import Path

import pytest

from tests.page.conftest import empty

ASKED = "?q=my+rear+tyre+keeps+getting+punctures"
PHONE = (390, 844)
SMALL = (320, 640)  # WCAG's reflow
WIDE = (1280, 860)
THEMES = ("light", pytest.param("dark", marks=pytest.mark.slow))


def show_suggestions(page):
    page.get_by_label("Your question").fill("clean disc brake rotors")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowDown")


def show_unfolded(page):
    page.locator(".title-button").first.click()
    page.locator(".title-content .answer").first.wait_for()
    page.get_by_role("button", name="Why this?").first.click()
    page.locator(".stages").first.wait_for()


def wait_for(selector):
    return lambda page: page.locator(selector).first.wait_for()


STATES = {
    "home": ("", wait_for(".welcome")),
    "suggestions": ("", show_suggestions),
    "results": (ASKED, wait_for(".hit")),
    "unfolded": (ASKED, show_unfolded),
    "post": ("?post=q002", wait_for(".whole-thread")),
    "compare": ("?view=compare&q=rear+tyre+punctures", wait_for(".ranked")),
    "archive": ("?view=archive", wait_for(".drawing")),
    "model": ("?view=model", wait_for(".serving")),
}

# each returns a list of what is wrong on the page
CONTRAST, FAULTS = (
    (Path(__file__).parent / name).read_text("utf-8") for name in ("contrast.js", "faults.js")
)


@pytest.mark.parametrize("theme", THEMES)
def test_every_state_is_readable_and_named(open_page, modelled, photograph, picture, theme):
    page = open_page(modelled, *WIDE, theme=theme)
    assert page.locator("html").get_attribute("data-theme") == theme
    for name, (address, show) in STATES.items():
        page.goto(modelled + address)
        show(page)
        assert page.evaluate(CONTRAST) == [], name
        assert page.evaluate(FAULTS) == [], name
        if theme == "light":
            picture(page, name)
        photograph(page, f"{name}-{theme}")


@pytest.mark.slow
def test_nothing_is_wider_than_a_phone(open_page, modelled, photograph):
    page = open_page(modelled, *PHONE)
    for name, (address, show) in STATES.items():
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        page.goto(modelled + address)
        show(page)
        photograph(page, f"{name}-phone")
        for width, height in (PHONE, SMALL):
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        names = page.locator(".places a")
        heights = names.evaluate_all("links => links.map((a) => a.scrollHeight)")
        assert max(heights) <= 44, "a name in the menu is broken into lines"


@pytest.mark.slow
def test_pages_without_a_model_are_photographed(open_page, bare, photograph):
    page = open_page(bare)
    nothing = ("?q=xyzzyqwertz", wait_for(".nothing"))  # vectors would find something
    states = {name: STATES[name] for name in ("unfolded", "archive", "model")}
    for name, (address, show) in (states | {"nothing": nothing}).items():
        page.goto(bare + address)
        show(page)
        assert page.evaluate(CONTRAST) == [], name
        photograph(page, f"{name}-bm25")


def test_nothing_of_another_test_is_left(open_page, profile, bare):
    stored = "[localStorage.length, sessionStorage.length, document.cookie]"
    page = open_page(bare)
    page.evaluate("localStorage.x = sessionStorage.x = 1; document.cookie = 'x=1'")
    assert page.evaluate(stored) == [1, 1, "x=1"]
    empty(profile)
    page.goto(bare)
    assert page.evaluate(stored) == [0, 0, ""]
    assert page.evaluate("history.length") == 2  # with about:blank


def test_the_theme_follows_the_system_until_it_is_chosen(open_page, bare):
    page = open_page(bare, theme="dark")
    root = page.locator("html")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.emulate_media(color_scheme="light")
    page.locator("html[data-theme=light]").wait_for()  # the browser tells the page a little later
    assert page.evaluate(ground) != dark
    page.get_by_role("button", name="Switch to dark theme").click()
    assert page.evaluate(ground) == dark
    page.reload()
    assert root.get_attribute("data-theme") == "dark"
    assert page.get_by_role("button", name="Switch to light theme").is_visible()


def tab_to(page, selector, most=80):
    """Press Tab until an element that fits has the focus, which must be visible at every stop."""
    for _ in range(most):
        page.keyboard.press("Tab")
        outline, fits = page.evaluate(
            "s => [getComputedStyle(document.activeElement).outlineStyle, "
            "document.activeElement.matches(s)]",
            selector,
        )
        assert outline != "none", page.evaluate("document.activeElement.outerHTML")
        if fits:
            return
    raise AssertionError(f"{selector} is not reached with {most} tabs")


def test_keyboard_only_through_everything(open_page, modelled):
    page = open_page(modelled)
    page.keyboard.type("my rear tyre keeps getting punctures")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.locator(".hit").first.wait_for()
    tab_to(page, ".title-button")
    page.keyboard.press("Enter")
    page.locator(".title-content .answer").first.wait_for()
    tab_to(page, ".why-button")
    page.keyboard.press("Space")
    page.locator(".stages").first.wait_for()
    tab_to(page, ".source-button")
    page.keyboard.press("Enter")
    page.locator(".source-content .answer").first.wait_for()
    page.reload()
    page.locator(".hit").first.wait_for()

    page.keyboard.press("Tab")  # the first stop leads past the header
    assert page.evaluate("document.activeElement.className") == "skip"
    tab_to(page, "[data-view=compare]")
    page.keyboard.press("Enter")
    tab_to(page, ".box")
    page.keyboard.type("tubeless sealant")
    tab_to(page, ".primary")
    page.keyboard.press("Enter")
    page.locator(".ranked").first.wait_for()
    tab_to(page, "select")
    page.keyboard.press("ArrowDown")
    page.wait_for_url("**left=**")

    page.reload()
    tab_to(page, "[data-view=archive]")
    page.keyboard.press("Enter")
    page.locator(".tiles").wait_for()
    tab_to(page, "summary")
    page.keyboard.press("Enter")
    assert page.locator(".numbers table").first.is_visible()

    page.reload()
    tab_to(page, "[data-view=model]")
    page.keyboard.press("Enter")
    page.locator(".figures").first.wait_for()
    tab_to(page, "summary")

    page.reload()
    tab_to(page, "#theme")
    page.keyboard.press("Space")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_titles_and_words_without_spaces_break(open_page, bare, http):
    long = "why" + "x" * 300
    post = {"id": "page-long", "kind": "question", "title": f"{long} quuxword?", "body": "y" * 2000}
    http.post(f"{bare}api/posts", json=post).raise_for_status()
    try:
        page = open_page(bare + "?q=quuxword", *PHONE)
        page.get_by_role("button", name=long).click()
        page.locator(".asked").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        page.get_by_label("Your question").fill("quuxword")
        page.get_by_role("option").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    finally:
        http.delete(f"{bare}api/posts/page-long")
