"""What people look for, synonyms and pinned results over HTTP."""

from datetime import date

import pytest

from askonce.archive import Archive
from askonce.archive.desk.searches import LoggedSearch, loggable
from askonce.engine import Engine
from askonce.engine.wording import Wording
from askonce.server import Keys, ServerSettings
from askonce.server.search_log import SearchLog
from askonce.types import Post

OPEN = Keys(open_writes=True)


@pytest.fixture
def forum():
    archive = Archive.in_memory("forum")
    archive.write(
        [
            Post("q1", "Why is my tyre flat?"),
            Post("a1", body="A thorn.", kind="answer", parent="q1"),
            Post("q2", "Which lamp for the night?"),
        ]
    )
    with Engine(archive) as engine:
        engine.start(background=False)
        yield engine


def test_searches_are_logged_only_if_the_operator_wants_it(forum, serve):
    quiet = serve(ServerSettings(keys=OPEN), forum)
    quiet.get("/api/ask", params={"q": "flat tyre"})
    assert quiet.get("/api/insights").json()["by_day"] == []
    client = serve(ServerSettings(keys=OPEN, log_days=30), forum)
    for question in ("Flat  Tyre", "flat tyre", "night lamp", "xyzzy me@example.org"):
        client.get("/api/ask", params={"q": question})
    client.get("/api/ask", params={"q": "flat tyre", "offset": 10})  # the next page of the same
    insights = client.get("/api/insights").json()
    (today,) = insights["by_day"]
    assert (today["searches"], today["claimed"], today["answered"]) == (4, 3, 2)
    assert insights["top"][0] == {
        "question": "flat tyre",
        "searches": 2,
        "claimed": 2,
        "answered": 2,
    }
    assert [one["question"] for one in insights["without"]] == ["xyzzy …"]
    table = client.get("/api/insights.csv", params={"table": "top"})
    assert table.headers["content-type"].startswith("text/csv")
    assert table.text.splitlines()[:2] == ["question,searches,claimed,answered", "flat tyre,2,2,2"]
    assert client.get("/api/insights.csv", params={"table": "days"}).text.startswith("day,")
    assert serve(ServerSettings(), forum).get("/api/insights").status_code == 403


def test_personal_data_and_old_searches_go():
    assert loggable("Call  ME at +49 170 1234567 or x@y.org") == "call me at … or …"
    archive = Archive.in_memory()
    archive.searches.add([LoggedSearch(f"2026-01-{n:02}", "old", True, True) for n in (1, 20)])
    log = SearchLog(archive, 0, today=lambda: date(2026, 1, 25))
    log.days = 10
    log.flush()
    assert [row["day"] for row in archive.searches.by_day()] == ["2026-01-20"]


def test_synonyms_and_pinned_results_serve_at_once(forum, serve):
    client = serve(ServerSettings(keys=OPEN), forum)

    def first(q):
        return [hit["id"] for hit in client.get("/api/similar", params={"q": q}).json()["similar"]]

    assert first("puncture") == []
    options = {
        "synonyms": [["puncture", "flat"]],
        "pinned": [{"question": "flat tyre", "posts": ["q2"]}],
    }
    assert client.put("/api/options", json=options).json() == options
    assert first("puncture") == ["q1"]
    assert first("my FLAT rear tyre") == ["q2", "q1"]
    (pinned, _) = client.get("/api/similar", params={"q": "flat tyre"}).json()["similar"]
    assert pinned["pinned"] and pinned["claimed"]
    assert first("tyre") == ["q1"]
    assert client.get("/api/options").json() == options
    for wrong in ("nothing", "a1"):
        body = {"synonyms": [], "pinned": [{"question": "lamp", "posts": [wrong]}]}
        assert client.put("/api/options", json=body).status_code == 422
    assert serve(ServerSettings(), forum).put("/api/options", json=options).status_code == 403


def test_synonyms_are_phrases_too_and_all_fitting_pins_are_shown():
    wording = Wording.of(
        [["bottom bracket", "bb"], ["e-bike", "pedelec"]],
        [
            {"question": "tyre", "posts": ["q1", "q2"]},
            {"question": "flat tyre", "posts": ["q3", "q1"]},
        ],
    )
    assert wording.added_words("my bottom brackets creak") == "bb"
    assert wording.added_words("the bracket at the bottom") == ""
    assert wording.added_words("BB or Pedelecs") == "bottom bracket e-bike"
    assert wording.added_words("is a bb a bottom bracket?") == ""
    assert wording.pinned_to("Flat tyres again") == ("q3", "q1", "q2")
    assert wording.pinned_to("a flat") == ()


def test_days_without_a_search_are_counted(forum, serve):
    days = ("2026-01-30", "2026-02-02")
    forum.archive.searches.add([LoggedSearch(day, "lamp", True, False) for day in days])
    client = serve(ServerSettings(keys=OPEN), forum)
    by_day = client.get("/api/insights").json()["by_day"]
    assert [(one["day"][5:], one["searches"]) for one in by_day] == [
        ("01-30", 1), ("01-31", 0), ("02-01", 0), ("02-02", 1)
    ]  # fmt: skip
    table = client.get("/api/insights.csv", params={"table": "days"}).text.splitlines()
    assert table[2] == "2026-01-31,0,0,0"


def test_the_page_learns_what_is_switched_on(forum, serve):
    settings = ServerSettings(
        keys=OPEN, clicks=True, ask_url="https://f.example/?t={title}", image_hosts=("i.example",)
    )
    client = serve(settings, forum)
    response = client.get("/api/page")
    assert response.json() == {
        "clicks": True,
        "ask_url": "https://f.example/?t={title}",
        "writes": True,
        "insights": False,
        "image_hosts": ["i.example"],
        "one_of_several": False,
        "examples": [{"id": "q1", "title": "Why is my tyre flat?"}],
    }
    assert "img-src 'self' data: https://i.example;" in response.headers["content-security-policy"]
    assert serve(ServerSettings(), forum).get("/api/page").json()["writes"] is False


def test_a_typo_in_a_word_that_the_archive_lacks_is_forgiven(forum):
    assert [hit.id for hit in forum.similar("night lmap")][:1] == ["q2"]
    assert forum.similar("ngiht") != []
    assert forum.similar("lmp") == [], "short words must be right"
