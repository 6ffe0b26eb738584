"""The moderator's desk, insights and the hand-over of new questions, in a real browser."""

import pytest

from tests.page.conftest import COPIED, MODERATOR
from tests.page.test_page_access import CONTRAST, FAULTS, PHONE, tab_to


def enter_key(page):
    page.get_by_label("API key").fill(MODERATOR)
    page.get_by_role("button", name="Use this key").click()


def test_mark_dismiss_merge_undo(open_page, desk, trouble, picture, http):
    trouble.expected += ["401", "Failed to load resource"]
    page = open_page(f"{desk}?view=moderate")
    enter_key(page)
    card = page.locator(".desk-card").filter(has_text="Always the rear one, help.")
    assert "Always the rear one." in card.inner_text()  # both texts beside each other
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(FAULTS) == []
    picture(page, "desk")
    headers = {"x-api-key": MODERATOR}

    def thread(name):
        return http.get(f"{desk}api/posts/{name}", headers=headers).json()

    for press, settled in (
        ("Mark as duplicate", lambda: thread("q2")["duplicate_of"] == "q1"),
        ("Merge answers", lambda: len(thread("q1")["answers"]) == 2),
        ("Not a duplicate", lambda: thread("q2")["duplicate_of"] is None),
    ):
        card.get_by_role("button", name=press).click()
        undo = card.get_by_role("button", name="Undo")
        undo.wait_for()
        assert settled(), press
        latest = page.get_by_label("Latest decisions").locator(".decision").first
        assert COPIED in latest.inner_text()  # titles, not ids
        page.keyboard.press("Enter")  # the focus is on Undo
        card.get_by_role("button", name=press).wait_for()
    assert thread("q2")["duplicate_of"] is None
    assert len(thread("q1")["answers"]) == 1

    answer = page.locator(".desk-card").filter(has_text="Turn the nipples.")
    answer.get_by_role("button", name="Link to this answer").click()
    answer.get_by_role("button", name="Undo").click()
    answer.get_by_role("button", name="Not an answer").wait_for()

    faq = page.get_by_label("Asked again and again: your real FAQ")
    assert "1 not marked yet" in faq.inner_text()  # nothing is marked here
    page.get_by_label("At least this likely").focus()
    with page.expect_response("**/api/moderation?least=0.9"):
        page.keyboard.type("9")
    page.locator("select:focus").wait_for()  # drawn anew, with the focus where it was
    page.goto(f"{desk}?view=moderate")  # from the keyboard alone: Mark, Merge, Not a duplicate
    page.locator(".desk-card").first.wait_for()
    for _ in range(3):
        tab_to(page, ".desk-card .actions button")
    assert page.evaluate("document.activeElement.innerText") == "Not a duplicate"
    page.keyboard.press("Enter")
    card.get_by_role("button", name="Undo").wait_for()
    page.reload()
    page.get_by_label("Latest decisions").get_by_text("Dismissed").wait_for()
    assert page.locator(".desk-card").filter(has_text="Always the rear one, help.").count() == 0
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_a_new_question_can_be_asked_beside_results(open_page, desk):
    page = open_page(f"{desk}?q=how+do+I+true+a+wheel")
    page.locator(".hit").first.wait_for()
    form = page.get_by_label("Ask a new question")
    form.locator("summary").click()
    assert form.get_by_label("Title").input_value() == "how do I true a wheel"
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(FAULTS) == []


def test_a_new_question_is_handed_over_and_shows_in_the_insights(open_page, desk, trouble):
    trouble.expected += ["401", "Failed to load resource"]
    page = open_page(f"{desk}?q=xyzzyqwertz")
    form = page.get_by_label("Ask a new question")
    form.get_by_label("Title").wait_for()
    assert form.get_by_label("Title").input_value() == "xyzzyqwertz"
    form.get_by_label("Title").fill("Is 5 > 4 & why?")
    form.get_by_label("Details").fill("Tell me")
    page.route("https://forum.example/**", lambda route: route.fulfill(body="the forum"))
    form.get_by_role("button", name="Continue on the forum").click()
    page.wait_for_url("https://forum.example/ask?t=Is%205%20%3E%204%20%26%20why%3F&b=Tell%20me")

    page.goto(f"{desk}?view=insights")
    enter_key(page)
    page.get_by_label("Without a good hit", exact=True).get_by_text("xyzzyqwertz").first.wait_for()
    assert page.locator(".drawing").count() == 2
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(FAULTS) == []
    with page.expect_download() as saved:
        page.get_by_label("Without a good hit", exact=True).get_by_role("button").first.click()
    assert "xyzzyqwertz" in saved.value.path().read_text()
    width, height = page.viewport_size["width"], page.viewport_size["height"]
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    page.set_viewport_size({"width": width, "height": height})
    page.get_by_label("Synonyms").fill("xyzzyqwertz, wobbles")
    page.get_by_label("Pinned").fill("spare tube: q1")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved. The next search uses them.").first.wait_for(state="attached")
    page.goto(f"{desk}?q=xyzzyqwertz")
    page.locator(".hit").first.wait_for()
    page.goto(f"{desk}?q=which+spare+tube")
    page.get_by_text("Pinned", exact=True).wait_for()


def test_images_of_allowed_hosts_are_shown(open_page, desk, trouble, http):
    hosts = ("images.example", "other.example")
    pictures = "".join(f'<img src="https://{host}/a.svg" onerror="alert(1)">' for host in hosts)
    post = {"id": "q9", "title": "What is this part?", "html": f"<p>Here: {pictures}</p>"}
    headers = {"x-api-key": MODERATOR}
    http.post(f"{desk}api/posts", json=post, headers=headers).raise_for_status()
    try:
        page = open_page(desk)
        drawn = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
        page.route(
            "https://images.example/**",
            lambda route: route.fulfill(body=drawn, content_type="image/svg+xml"),
        )
        page.goto(f"{desk}?post=q9")
        image = page.locator(".quoted img")  # one; the other is a link
        image.wait_for()
        assert image.get_attribute("src") == "https://images.example/a.svg"
        assert image.get_attribute("loading") == "lazy"
        assert image.get_attribute("onerror") is None
        assert image.get_attribute("alt") == "Image"  # a link needs a name
        assert page.locator(".quoted a").last.inner_text() == "Image"
    finally:
        http.delete(f"{desk}api/posts/q9", headers=headers)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_documentation_is_readable(open_page, desk, theme):
    page = open_page(f"{desk}docs", theme=theme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(18, 21, 23)") == (theme == "dark")
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(FAULTS) == []
    page.get_by_role("link", name="POST /api/decisions").click()
    section = page.get_by_label("POST /api/decisions", exact=True)
    assert "at most 200 characters" in section.inner_text()
    assert '"merge"' in section.inner_text()
    assert "rate_limited" in page.get_by_label("Errors").inner_text()
