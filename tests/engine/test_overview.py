"""The archive at a glance: months, answers of likely duplicates, and when it is made anew."""

from dataclasses import replace

import pytest

from askonce.archive import Archive
from askonce.engine import Engine, overview
from askonce.types import Link, Post

ASKED = Post("q1", "How do I patch a bicycle tube on the road?", created="2021-01-05")
ANSWER = Post(
    "a1", body="With glue and patience.", kind="answer", parent="q1", created="2021-01-06"
)
AGAIN = Post("q2", "How do I patch a bicycle tube on a road trip?", created="2021-05-01")
OTHER = Post("q3", "Which oil suits a chain in the rain?", created="2021-05-02")


@pytest.fixture
def engine():
    archive = Archive.in_memory()
    archive.write([ASKED, ANSWER, AGAIN, OTHER])
    engine = Engine(archive)
    engine.start(background=False)
    yield engine
    engine.close()


def test_only_the_answer_of_a_likely_duplicate_is_shown(engine):
    likely = {entry["id"]: entry["likely"] for entry in engine.overview()["unanswered"]}
    assert likely["q3"] is None  # not just any answer
    assert likely["q2"]["answer_id"] == "a1" and likely["q2"]["question_id"] == "q1"
    assert 0.5 <= likely["q2"]["probability"] <= 1 and not likely["q2"]["calibrated"]


def test_months_without_posts_are_shown(engine):
    growth = engine.overview()["growth"]
    assert [entry["month"] for entry in growth] == [f"2021-0{n}" for n in range(1, 6)]
    assert [entry["questions"] + entry["answers"] for entry in growth] == [2, 0, 0, 0, 2]


@pytest.mark.parametrize(
    ("months", "expected"),
    [
        ([], []),
        (["2020-12", "2021-02"], ["2020-12", "2021-01", "2021-02"]),
        (["0001-01", "2021-01"], ["0001-01", "2021-01"]),  # a wrong date makes no 24,000 months
    ],
)
def test_every_month(months, expected):
    filled = overview._every_month([(month, 1, 0) for month in months])
    assert [month for month, _, _ in filled] == expected


def test_the_overview_is_made_anew_for_a_change_or_a_model_only(engine, monkeypatch):
    first = engine.overview()
    assert engine.overview() is first
    engine.write([], [Link("q2", "q1")])
    second = engine.overview()
    assert second is not first and second["counts"]["duplicates"] == 1
    searches = engine._manager._searches
    monkeypatch.setattr(engine._manager, "_searches", replace(searches, model="0002"))
    assert engine.overview() is not second
