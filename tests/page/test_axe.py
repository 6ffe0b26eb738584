"""axe finds no violation of WCAG in any view, in both themes; needs the extra ``axe``."""

import pytest

from tests.page.test_desk_page import enter_key
from tests.page.test_page_access import STATES, wait_for

sync_playwright = pytest.importorskip("axe_playwright_python.sync_playwright")
KEYED = {"moderate": ".desk", "insights": ".page-head"}  # views that need a key


@pytest.fixture
def check():
    """Asserts that axe finds nothing on a page."""
    axe = sync_playwright.Axe()

    def check(page, name):
        violations = axe.run(page).response["violations"]
        faults = [(one["id"], [node["html"] for node in one["nodes"][:3]]) for one in violations]
        assert faults == [], name

    return check


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_any_view(open_page, modelled, desk, check, trouble, theme):
    trouble.expected += ["401", "Failed to load resource"]
    page = open_page(modelled, theme=theme)
    for name, (address, show) in STATES.items():
        page.goto(modelled + address)
        show(page)
        check(page, name)
    page.goto(f"{desk}?q=xyzzyqwertz")
    page.get_by_label("Ask a new question").wait_for()
    check(page, "hand-over")
    for view, part in KEYED.items():
        page.goto(f"{desk}?view={view}")
        if view == "moderate":  # the page remembers the key
            enter_key(page)
        wait_for(part)(page)
        check(page, view)
    page.goto(f"{desk}docs")
    check(page, "docs")
