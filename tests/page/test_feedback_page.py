"""Feedback on the page teaches the next model."""

import pytest

from askonce.archive import Archive
from tests.page.conftest import serving
from tests.training.visited_forum import NEW, OLD, marks, posts, question


@pytest.fixture
def visited(tmp_path):
    folder = tmp_path / "visited.askonce"
    archive = Archive.open(folder, create=True)
    archive.write(posts())
    archive.close()
    with serving(folder) as address:
        yield folder, address


def marked(open_page, address, http):
    """The page after a visitor has marked results, and fifty others have."""
    page = open_page(f"{address}?q={OLD[0]}+needs+care")
    group = page.locator("[data-id=q0] .feedback-group")
    same = group.get_by_role("button", name="Same question")
    different = group.get_by_role("button", name="Not a duplicate")
    different.click()
    page.get_by_text("Thank you. The next model learns from it.").wait_for(state="attached")
    assert different.get_attribute("aria-pressed") == "true"
    same.click()  # in place of the other
    assert (same.get_attribute("aria-pressed"), different.get_attribute("aria-pressed")) == (
        "true",
        "false",
    )
    for n, mark in enumerate(marks(lambda n: f"visitor-number-{n:04}")):
        http.post(
            f"{address}api/feedback",
            json={
                "question": question(n),
                "id": mark.post,
                "mark": "same",
                "visitor": mark.visitor,
            },
            headers={"x-forwarded-for": f"10.0.0.{n}"},
        ).raise_for_status()
    page.goto(f"{address}?q=a+{NEW[0]}+again")
    page.locator(".nothing").wait_for()
    page.goto(f"{address}?view=model")
    page.get_by_text("51 marks in 1 week").wait_for()
    return page


def test_marks_are_given_changed_and_counted(open_page, visited, http):
    marked(open_page, visited[1], http)


@pytest.mark.slow
def test_feedback_then_training_then_another_order(open_page, visited, http, askonce):
    folder, address = visited
    page = marked(open_page, address, http)
    trained = askonce("train", folder, "--encoder", "bag", "--task", "questions")
    assert trained.returncode == 0
    page.get_by_role("heading", name="Model 0001 is in service").wait_for()
    page.goto(f"{address}?q=a+{NEW[0]}+again")
    page.locator(".hit").first.wait_for()
    assert OLD[0] in page.locator(".hit h3").first.inner_text()
