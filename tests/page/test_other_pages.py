"""Compare, archive and model: with a trained model and without."""

import json
import os
import re
import time

COMPARED = "?view=compare&q=rear+tyre+punctures"


def test_compare_two_rankers(open_page, modelled):
    page = open_page(modelled + COMPARED)
    page.locator(".ranked").first.wait_for()
    lists = page.locator(".ranking")
    assert lists.count() == 2
    assert re.search(r"\d+ of 10 results in common", page.locator(".verdict").inner_text())
    left = lists.first.locator(".ranked").evaluate_all("rows => rows.map((r) => r.dataset.id)")
    for target, row in enumerate(lists.last.locator(".ranked").all()):
        name, mark = row.get_attribute("data-id"), row.locator(".move").inner_text()
        if name not in left:
            assert mark == "only here"
        elif left.index(name) == target:
            assert mark == "same rank"
        else:
            moved = left.index(name) - target
            way = "up" if moved > 0 else "down"
            assert mark.split() == ["moved", way, "by", str(abs(moved))]
    page.get_by_label("Right").select_option("bm25")
    page.wait_for_url("**right=bm25**")
    page.locator(".move-up, .move-down, .move-new").first.wait_for(state="detached")
    summary = page.locator(".verdict").inner_text()
    assert summary == "10 of 10 results in common, same top result."


def test_compare_answers_from_the_keyboard(open_page, modelled):
    page = open_page(modelled + "?view=compare")
    page.keyboard.press("/")
    page.keyboard.type("tubeless sealant")
    page.keyboard.press("Enter")
    page.locator(".ranked").first.wait_for()
    page.get_by_role("button", name="Answers").press("Enter")
    page.wait_for_url("**of=answers**")
    page.locator(".ranked .excerpt").first.wait_for()
    assert page.get_by_role("button", name="Answers").get_attribute("aria-pressed") == "true"


def test_the_overview_shows_what_the_server_counts(open_page, bare, http):
    page = open_page(bare + "?view=archive")
    page.locator(".tiles").wait_for()
    reported = http.get(f"{bare}api/overview").json()
    tiles = page.locator(".tile").all_inner_texts()
    assert any(
        t.startswith(str(reported["counts"]["questions"])) or "questions" in t for t in tiles
    )
    assert page.locator(".tile dd").first.inner_text() == str(reported["counts"]["questions"])
    drawn = page.locator(".chart path").first.get_attribute("d")
    assert drawn.count("L") == len(reported["growth"]) - 1
    page.get_by_text("Show data").click()
    assert page.locator(".numbers tbody tr").count() == len(reported["growth"])
    unanswered = page.get_by_label("Unanswered questions")
    assert reported["unanswered"][0]["title"] in unanswered.inner_text()
    likely = [question for question in reported["unanswered"] if question["likely"]]
    assert unanswered.locator(".likely").count() <= len(likely)
    assert all(question["likely"]["probability"] >= 0.5 for question in likely)


def test_the_overview_with_a_model_finds_duplicates(open_page, modelled, http):
    page = open_page(modelled + "?view=archive")
    page.locator(".tiles").wait_for()
    actual = http.get(f"{modelled}api/overview").json()["duplicates_found"]
    part = page.get_by_label("Likely duplicates, not marked yet")
    assert part.locator(".hit").count() == min(6, len(actual))
    if actual:
        assert actual[0]["title"] in part.inner_text()
        assert "%" in part.locator(".badge").first.inner_text()


def test_without_a_model_the_model_page_says_how_to_get_one(open_page, bare):
    page = open_page(bare + "?view=model")
    page.get_by_role("heading", name="BM25 is in service").wait_for()
    assert "askonce train" in page.locator(".serving").inner_text()
    assert "index is up to date" in page.locator(".serving").inner_text()
    assert page.locator("#status").inner_text() == "BM25, no model yet"


def test_the_model_page_shows_figures_beside_bm25_and_curves(open_page, modelled):
    page = open_page(modelled + "?view=model")
    page.get_by_role("heading", name="Model 0001 is in service").wait_for()
    part = page.get_by_label("Similar questions", exact=True)
    headline = "MAP 0.620 on 30 test questions, compared to 0.550 for BM25: +13 %"
    assert headline in part.inner_text()
    part.get_by_text("Metrics on dev, by which it was selected").click()
    for split, value, gain in (("Test", "0.620", "+0.070"), ("Dev", "0.660", "+0.080")):
        row = part.get_by_role("region", name=f"Metrics: {split}").locator(".in-service")
        assert row.inner_text().startswith("Combined")
        assert value in row.inner_text() and gain in row.inner_text()
    assert "Encoder trained on marked duplicates · 120 training questions" in part.inner_text()
    assert part.locator(".chart").count() == 2
    assert part.locator(".chart path").first.get_attribute("d").count("L") == 11
    assert part.locator(".best").count() == 1


def test_a_running_training_is_shown_and_its_end(open_page, modelled, modelled_archive):
    progress = modelled_archive / "models" / ".training" / "progress.json"
    progress.parent.mkdir(parents=True, exist_ok=True)
    reported = {"text": "the encoder", "task": "answers", "epoch": 3, "done": 50, "of": 100}
    reported |= {"loss": 0.25, "share": 0.4, "history": []}
    progress.write_text(json.dumps(reported), "utf-8")
    page = open_page(modelled + "?view=model")
    page.get_by_role("heading", name="Training in progress").wait_for()
    bar = page.get_by_role("progressbar")
    assert float(bar.get_attribute("value")) == 0.4
    words = "Answers · the encoder · epoch 3 · 50 of 100 · loss 0.250"
    assert words in page.locator(".training").inner_text()
    progress.write_text(json.dumps(reported | {"epoch": 4}), "utf-8")
    page.get_by_text("epoch 4").wait_for()
    os.utime(progress, (time.time() - 3600,) * 2)  # the process died
    page.locator(".training").wait_for(state="detached")
    progress.unlink()
