"""Ask: suggestions while one types, results, answers in place, why."""

import re

import pytest

QUESTION = "my rear tyre keeps getting punctures"
ASKED = "?q=" + QUESTION.replace(" ", "+")


def loaded(page):
    """Wait for the results of the address; until then those before it stay on the page."""
    page.locator(".results:not([aria-busy])").wait_for()


def test_the_home_page_says_what_is_searched(open_page, bare, http):
    page = open_page(bare)
    posts = http.get(f"{bare}readyz").json()["posts"]
    page.get_by_text(f"Searching {posts} posts in bicycles", exact=True).wait_for()


def test_suggestions_appear_while_typing(open_page, bare):
    page = open_page(bare)
    page.get_by_label("Your question").press_sequentially("clean disc brake rot")
    option = page.get_by_role("option").first
    option.wait_for()
    assert option.inner_text().startswith("What can I use to clean disc brake rotors?")
    assert "clean" in option.locator("mark").all_inner_texts()
    assert page.get_by_label("Your question").get_attribute("aria-expanded") == "true"


def test_a_suggestion_is_chosen_by_keyboard(open_page, bare):
    page = open_page(bare)
    page.keyboard.type("clean disc brake rotors")  # the box has the focus from the start
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowDown")
    box = page.get_by_label("Your question")
    chosen = page.locator("#" + box.get_attribute("aria-activedescendant"))
    assert chosen.get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    page.get_by_role(
        "heading", level=1, name="What can I use to clean disc brake rotors?"
    ).wait_for()
    assert "post=q001" in page.url
    assert page.get_by_text("Isopropyl alcohol").is_visible()
    page.get_by_role("link", name="All results for").click()
    page.locator(".hit").first.wait_for()
    assert "post=" not in page.url


def test_arrows_go_round_and_escape_closes(open_page, bare):
    page = open_page(bare)
    page.keyboard.type("brake pads")
    page.get_by_role("option").first.wait_for()
    count = page.get_by_role("option").count()
    page.keyboard.press("ArrowUp")
    options = page.get_by_role("option")
    assert options.nth(count - 1).get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowDown")  # past the end nothing is chosen
    assert page.locator("[aria-selected=true]").count() == 0
    page.keyboard.press("Escape")
    assert page.locator(".suggestions li").count() == 0
    assert page.get_by_label("Your question").input_value() == "brake pads"


def test_a_late_suggestion_is_dropped(open_page, bare):
    page = open_page(bare)
    # the first answer comes when the test says so, and does not mind being cancelled
    page.evaluate(
        """() => {
          const real = window.fetch;
          window.fetch = async (address, options) => {
            if (!options?.body?.includes("saddle")) return real(address, options);
            const answer = await real(address, { ...options, signal: undefined });
            await new Promise((come) => { window.come = come; });
            return answer;
          };
        }"""
    )
    page.keyboard.type("saddle")
    while not page.evaluate("() => Boolean(window.come)"):
        page.wait_for_timeout(20)
    page.get_by_label("Your question").fill("disc brake rotors")
    page.get_by_role("option").first.wait_for()
    before = page.get_by_role("option").all_inner_texts()
    page.evaluate("() => window.come()")
    page.wait_for_timeout(200)
    assert page.get_by_role("option").all_inner_texts() == before
    assert "disc brake" in before[0]


def test_what_is_chosen_stays_chosen_when_later_suggestions_come(open_page, bare):
    page = open_page(bare)
    page.evaluate(
        """() => {
          const real = window.fetch;
          window.fetch = async (address, options) => {
            const answer = await real(address, options);
            if (options?.body?.includes("rotors")) {
              await new Promise((come) => { window.come = come; });
            }
            return answer;
          };
        }"""
    )
    page.keyboard.type("clean disc brake")
    page.get_by_role("option").first.wait_for()
    page.keyboard.type(" rotors")
    while not page.evaluate("() => Boolean(window.come)"):
        page.wait_for_timeout(20)
    page.keyboard.press("ArrowDown")
    chosen = page.locator("[aria-selected=true]").inner_text()
    page.get_by_role("option").first.evaluate("(option) => { option.dataset.old = 'yes'; }")
    page.evaluate("() => window.come()")
    page.locator("[data-old]").wait_for(state="detached")
    assert page.locator("[aria-selected=true]").inner_text() == chosen
    page.keyboard.press("s")  # typing chooses nothing
    assert page.locator("[aria-selected=true]").count() == 0


def test_enter_shows_results_and_the_address_carries_the_question(open_page, bare):
    page = open_page(bare)
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    first = page.get_by_label("Similar questions").locator(".hit").first
    first.wait_for()
    assert "Why do I keep getting punctures in my rear tyre?" in first.inner_text()
    assert "punctures" in first.locator("mark").all_inner_texts()
    assert re.search(r"48\s*votes", first.inner_text())
    assert re.search(r"4 answers\s*, one accepted", first.inner_text())
    assert "1 Feb 2021" in first.inner_text()
    assert page.get_by_label("Answers", exact=True).locator(".hit").count() == 10
    assert page.url.endswith(ASKED)
    assert page.title().startswith(QUESTION)
    assert "similar questions and" in page.locator("#announce").inner_text()
    assert page.locator(".suggestions li").count() == 0


def test_back_returns_to_the_question_before(open_page, bare):
    page = open_page(bare + ASKED)
    page.locator(".hit").first.wait_for()
    box = page.get_by_label("Your question")
    box.fill("clean disc brake rotors")
    box.press("Enter")
    page.get_by_role("button", name="What can I use to clean disc brake rotors?").first.wait_for()
    page.go_back()
    page.get_by_role("button", name="Why do I keep getting punctures").first.wait_for()
    assert box.input_value() == QUESTION


def test_answers_unfold_in_place(open_page, bare):
    page = open_page(bare + ASKED)
    title = page.get_by_role(
        "button", name="Why do I keep getting punctures in my rear tyre?"
    ).first
    title.click()
    hit = page.locator(".hit").first
    hit.locator(".answer").first.wait_for()
    assert title.get_attribute("aria-expanded") == "true"
    best = hit.locator(".answer").first
    assert "Accepted" in best.inner_text() and "41" in best.inner_text()
    assert "Something is still stuck in the" in best.inner_text()
    title.click()
    assert not hit.locator(".answer").first.is_visible()
    source = page.get_by_label("Answers", exact=True).locator(".source-button").first
    source.click()
    page.get_by_label("Answers", exact=True).locator(".source-content .answer").first.wait_for()


def test_why_without_a_model_is_the_words(open_page, bare):
    page = open_page(bare + ASKED)
    page.get_by_role("button", name="Why this?").first.click()
    why = page.locator(".why-content").first
    why.locator(".stages").wait_for()
    assert why.locator("tbody tr").count() == 1
    assert "BM25" in why.inner_text()
    assert {"punctures", "tyre"} <= set(why.locator(".chip").all_inner_texts())
    assert why.locator(".shaded").count() == 0


def test_why_with_a_model_shows_stages_and_weighed_words(open_page, modelled):
    page = open_page(modelled + ASKED)
    assert "%" in page.locator(".hit .badge").first.inner_text()
    page.get_by_role("button", name="Why this?").first.click()
    why = page.locator(".why-content").first
    why.locator(".stages").wait_for()
    assert {"Words", "Meaning"} <= {
        text.split("\n")[0] for text in why.locator("tbody th").all_inner_texts()
    }
    assert why.locator("figcaption").all_inner_texts() == ["Norm"]
    shades = why.locator(".shaded").evaluate_all(
        "words => words.map((word) => Number(word.style.getPropertyValue('--weight')))"
    )
    assert max(shades) == 1 and min(shades) == 0


def test_the_parts_of_a_score_add_up(open_page, modelled):
    page = open_page(modelled + ASKED)
    page.get_by_label("Answers", exact=True).get_by_role("button", name="Why this?").first.click()
    why = page.get_by_label("Answers", exact=True).locator(".why-content").first
    why.locator(".stages").wait_for()
    assert why.locator("thead th").all_inner_texts()[1] == "Adds"
    numbers = why.locator(".bar-number").all_inner_texts()
    total = why.locator("tfoot td").inner_text()
    parts = sum(float(text.replace("−", "-")) for text in numbers)
    assert parts == pytest.approx(float(total.replace("−", "-")), abs=0.02)


def test_votes_and_ranker_are_choices_that_the_address_keeps(open_page, modelled):
    page = open_page(modelled + ASKED)
    page.locator(".hit").first.wait_for()
    page.get_by_label("Prefer upvoted answers").uncheck()
    page.wait_for_url("**votes=false**")
    page.get_by_label("Rank by").select_option("bm25")
    page.wait_for_url("**ranker=bm25**")
    page.reload()
    page.locator(".hit").first.wait_for()
    assert not page.get_by_label("Prefer upvoted answers").is_checked()
    assert page.get_by_label("Rank by").input_value() == "bm25"


def test_filters_sorting_and_pages_are_in_the_address(open_page, bare):
    page = open_page(bare + "?q=how+do+I+fix+my+bike")
    similar = page.get_by_label("Similar questions")
    hits = similar.locator(".hit")
    hits.first.wait_for()
    first_page = hits.evaluate_all("hits => hits.map((hit) => hit.dataset.id)")
    for number in (2, 3, 4):  # beyond thirty results
        page.get_by_role("link", name="Next").click()
        page.get_by_text(f"Page {number}", exact=True).wait_for()
    last_page = hits.evaluate_all("hits => hits.map((hit) => hit.dataset.id)")
    assert len(last_page) == 10
    assert not set(first_page) & set(last_page)
    page.go_back()
    page.get_by_text("Page 3", exact=True).wait_for()

    page.goto(bare + "?q=brake")
    page.get_by_text("Filter and sort").click()
    page.get_by_label("Sort by").select_option("votes")
    page.wait_for_url("**sort=votes**")
    loaded(page)
    votes = similar.locator(".fact:has(.icon-votes)").all_inner_texts()
    assert len(votes) == 10
    counts = [int(re.match(r"[−\d]+", text)[0].replace("−", "-")) for text in votes]
    assert counts == sorted(counts, reverse=True)
    page.get_by_label("Tag", exact=True).fill("brakes")
    page.keyboard.press("Enter")
    page.wait_for_url("**tag=brakes**")
    page.get_by_text("Filter and sort (1 active)").wait_for()
    loaded(page)
    tagged = similar.locator(".hit .tags").all_inner_texts()
    assert len(tagged) == hits.count() > 0
    assert all("brakes" in tags for tags in tagged)
    page.get_by_role("button", name="Clear filters").click()
    page.wait_for_url(re.compile(r"q=brake$"))
    page.goto(bare + "?q=brake&after=2100-01-01")
    page.get_by_text("No result passes the filters").wait_for()


def test_answers_stand_under_their_thread_and_duplicates_under_their_original(open_page, bare):
    page = open_page(bare + ASKED)
    answers = page.get_by_label("Answers", exact=True)
    answers.locator(".hit").first.wait_for()
    titles = answers.locator(".source-button").all_inner_texts()
    assert len(titles) == len(set(titles)) < answers.locator(".hit").count() == 10
    folded = page.get_by_label("Similar questions").locator(".folded a").first
    title = folded.inner_text()
    original = page.locator(".hit:has(.folded) .title-button").first.inner_text()
    folded.click()
    page.get_by_role("heading", level=1, name=title).wait_for()
    while title != original:  # a duplicate of a duplicate leads to the original in steps
        relation = page.locator(".relations")
        assert relation.inner_text().startswith("Marked as a duplicate of ")
        title = relation.get_by_role("link").first.inner_text()
        relation.get_by_role("link").first.click()
        page.get_by_role("heading", level=1, name=title, exact=True).wait_for()


def test_a_search_without_results_says_so(open_page, bare):
    page = open_page(bare + "?q=xyzzyqwertz")
    page.get_by_role("heading", name="Nothing close was asked before").wait_for()


def test_nonsense_is_not_called_already_asked(open_page, modelled):
    # vectors find something; no word is a typo away from one of the archive, as "dolor" of "door"
    page = open_page(modelled + "?q=qwertz+xyzzy+lorem+ipsum")
    page.get_by_role("heading", name="Nothing close was asked before").wait_for()
    assert page.locator(".hit").count() == 0
    page.get_by_role("button", name="Show the closest results").click()
    page.locator(".hit").first.wait_for()
    assert page.get_by_text("Already asked").count() == 0
    page.goto(modelled + "?q=qwertz+xyzzy+lorem+ipsum+dolor")
    page.get_by_text("Not clearly asked before: ").wait_for()
    assert page.get_by_text("Already asked").count() == 0
    page.goto(modelled + "?q=Why+do+I+keep+getting+punctures+in+my+rear+tyre?")
    page.get_by_text("Already asked: ").wait_for()


def test_an_error_is_said_and_can_be_tried_again(open_page, bare, trouble):
    trouble.expected += ["500"]
    page = open_page(bare)
    failed = {"error": {"type": "internal", "message": "something broke"}}
    page.route("**/api/ask?*", lambda route: route.fulfill(status=500, json=failed), times=1)
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert "Something broke" in alert.inner_text()
    alert.get_by_role("button", name="Try again").click()
    page.locator(".hit").first.wait_for()
    assert alert.count() == 0


def test_a_busy_server_is_asked_again_without_a_click(open_page, bare, trouble):
    trouble.expected += ["503"]
    page = open_page(bare)
    busy = {"error": {"type": "overloaded", "message": "too many requests"}}
    page.route("**/api/ask?*", lambda route: route.fulfill(status=503, json=busy), times=1)
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.locator(".hit").first.wait_for()


def test_the_way_back_keeps_title_scroll_and_focus(open_page, bare):
    page = open_page(bare + ASKED, height=400)
    link = page.locator(".hit .folded a").first
    link.wait_for()
    link.focus()  # scrolls to it
    before = page.evaluate("scrollY")
    hit = link.evaluate("link => link.closest('[data-id]').dataset.id")
    page.keyboard.press("Enter")
    page.locator(".whole-thread").wait_for()
    page.go_back()
    page.locator(".hit").first.wait_for()
    page.wait_for_function("y => Math.abs(scrollY - y) < 2", arg=before)
    focused = "document.activeElement.closest('[data-id]')?.dataset.id"
    assert page.evaluate(focused) == hit
    assert page.title().startswith(QUESTION)


def test_a_new_question_is_posted_where_writes_are_allowed(open_page, bare, http):
    page = open_page(bare + "?q=xyzzyqwertz")
    form = page.get_by_label("Ask a new question")
    form.get_by_label("Details").fill("What is it?")
    form.get_by_role("button", name="Post the question").click()
    page.get_by_role("link", name="Open your question").click()
    page.get_by_role("heading", level=1, name="xyzzyqwertz").wait_for()
    posted = http.get(f"{bare}api/similar", params={"q": "xyzzyqwertz"}).json()["similar"][0]
    http.delete(f"{bare}api/posts/{posted['id']}").raise_for_status()


def test_an_error_that_lasts_is_said_without_trying_again(open_page, bare, trouble):
    trouble.expected += ["404", "no_such_post"]
    page = open_page(bare + "?post=no_such_post")
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert "no_such_post" in alert.inner_text()
    assert alert.get_by_role("button").count() == 0


def test_a_lost_server_is_said_and_comes_back(open_page, bare, trouble):
    trouble.expected += ["ERR_INTERNET_DISCONNECTED"]
    page = open_page(bare + ASKED)
    page.locator(".hit").first.wait_for()
    page.context.set_offline(True)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_text("Can’t reach the server. Is").wait_for()
    page.locator("#status").get_by_text("Can’t reach the server").wait_for()
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    page.locator(".hit").first.wait_for()


def test_a_server_that_wants_a_key_is_given_one(open_page, locked, trouble):
    address, key = locked
    trouble.expected += ["401"]
    page = open_page(address + ASKED)
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Use this key").click()
    page.locator(".hit").first.wait_for()


def test_a_slow_answer_is_said(open_page, bare):
    page = open_page(bare)
    page.evaluate(
        """() => {
          const real = window.fetch;
          window.fetch = async (address, options) => {
            const late = String(address).includes("api/ask");
            if (late) await new Promise((done) => setTimeout(done, 2400));
            return real(address, options);
          };
        }"""
    )
    page.keyboard.type("brake")
    page.keyboard.press("Enter")
    page.get_by_text("Loading…").first.wait_for()
    page.get_by_text("Still working…").first.wait_for()
    page.locator(".hit").first.wait_for()
    assert page.locator(".waiting").count() == 0


def test_a_post_is_found_at_once_and_gone_when_deleted(open_page, bare, http):
    post = {
        "id": "page-new",
        "kind": "question",
        "title": "Does a flugelbinder fit a recumbent?",
        "body": "Asked by a test.",
        "tags": ["fit"],
    }
    http.post(f"{bare}api/posts", json=post).raise_for_status()
    try:
        page = open_page(bare)
        page.keyboard.type("flugelbinder")
        page.get_by_role("option", name=re.compile("flugelbinder")).wait_for()
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Does a flugelbinder fit").wait_for()
        edit = {"title": "Does a grommetwheel fit a recumbent?"}
        http.put(f"{bare}api/posts/page-new", json=edit).raise_for_status()
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_role("heading", name="Nothing close was asked before").wait_for()
    finally:
        http.delete(f"{bare}api/posts/page-new").raise_for_status()
    page.get_by_label("Your question").fill("grommetwheel")
    page.get_by_label("Your question").press("Enter")
    page.wait_for_url("**grommetwheel")
    loaded(page)
    page.get_by_role("heading", name="Nothing close was asked before").wait_for()
    assert page.locator(".hit").count() == 0


def test_script_in_a_post_is_harmless(open_page, bare, http):
    script = "window.hacked = true"
    posts = [
        {
            "id": "page-evil",
            "kind": "question",
            "title": f"Is <img src=x onerror='{script}'> a malicious zorbinator?",
            "body": "A zorbinator.",
            "html": f"<p onclick='{script}'>A <b>zorbinator</b>.</p><script>{script}</script>"
            f"<img src='https://other.invalid/pixel.png' alt='a pixel' onerror='{script}'>"
            f"<a href='javascript:{script}'>here</a><iframe src='/'></iframe>"
            f"<svg onload='{script}'></svg><style>body {{ display: none }}</style>",
            "tags": ["<script>"],
        },
        {
            "id": "page-evil-answer",
            "kind": "answer",
            "parent": "page-evil",
            "body": f"</div><script>{script}</script> zorbinator",
            "html": f"<a href=' javascript:{script}' onfocus='{script}' autofocus>zorbinator</a>",
        },
    ]
    http.post(f"{bare}api/posts", json={"posts": posts}).raise_for_status()
    try:
        page = open_page(bare + "?q=zorbinator")
        page.locator(".title-button", has_text="Is <img src=x onerror=").click()
        page.locator(".title-content .answer").first.wait_for()
        quoted = page.locator(".quoted")
        assert quoted.locator("script, iframe, svg, style, img").count() == 0
        attributes = quoted.locator("*").evaluate_all(
            "all => all.flatMap((one) => one.getAttributeNames())"
        )
        assert not [name for name in attributes if name.startswith("on")]
        assert quoted.locator("a[href^='javascript']").count() == 0
        assert page.get_by_role("link", name="Image: a pixel").first.is_visible()
        assert quoted.locator("b").first.inner_text() == "zorbinator"  # what is harmless stays
        assert page.evaluate("window.hacked") is None
    finally:
        http.post(f"{bare}api/posts/delete", json={"ids": [p["id"] for p in posts]})


MARKED = [
    ("Use C++ or C, not the .NET thing", ["c++"], ["C++"]),
    ("Tyres and tyre-levers: a TYRE", ["tyre"], ["tyre", "TYRE"]),
    ("don't apt-get; do apt", ["apt-get", "don't", "apt"], ["don't", "apt-get", "apt"]),
    ("a.b (c) [d] $^|\\ /etc/fstab", ["/etc/fstab", "a.b"], ["a.b", "/etc/fstab"]),
    ("Größe über Öl", ["öl", "über"], ["über", "Öl"]),
    ("nothing", [], []),
]


def test_words_are_marked_as_they_are_written(open_page, bare):
    page = open_page(bare)
    actual = page.evaluate(
        """async (cases) => {
          const { marked } = await import("./static/words.js");
          return cases.map(([text, words]) => {
            const place = document.createElement("p");
            place.append(...marked(text, words));
            const marks = [...place.querySelectorAll("mark")].map((mark) => mark.textContent);
            return [place.textContent, words, marks];
          });
        }""",
        [[text, words] for text, words, _ in MARKED],
    )
    assert [tuple(case) for case in actual] == MARKED
