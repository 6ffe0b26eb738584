"""Likely duplicates and answers of the newest questions: what a change makes search again."""

import pytest

from askonce.archive import Archive
from askonce.engine import Engine, checked
from askonce.engine.moderation import decide, propose_answers, propose_duplicates
from askonce.types import Link, Post

SAME = "how do I true a bent rear wheel at home"
OTHER = "which saddle suits a long tour with camping gear"


@pytest.fixture
def engine():
    archive = Archive.in_memory()
    archive.write(
        [
            Post("q1", SAME, created="2020-01-01"),
            Post("a1", body="Turn the nipples.", kind="answer", parent="q1"),
            Post("q2", SAME, created="2020-02-01"),
            Post("q3", OTHER, created="2020-03-01"),
        ]
    )
    with Engine(archive) as engine:
        engine.start(background=False)
        yield engine


@pytest.fixture
def searched(monkeypatch):
    """The ids of the questions that were searched since the list was cleared."""
    ids = []
    search = checked.similar_pairs

    def counting(engine, questions, least):
        ids.extend(post.id for post in questions)
        return search(engine, questions, least)

    monkeypatch.setattr(checked, "similar_pairs", counting)
    return ids


def duplicates(engine):
    pairs = propose_duplicates(engine, 10, 0.5)
    return [(pair.question.id, pair.original.id) for pair in pairs]


def test_decisions_links_and_answers_need_no_new_search(engine, searched):
    assert duplicates(engine) == [("q2", "q1")]
    assert [one.answer.id for one in propose_answers(engine, 10)] == ["a1"]
    assert sorted(searched) == ["q1", "q2", "q3"]
    searched.clear()
    engine.write([Post("a2", body="Ask a shop.", kind="answer", parent="q1", score=3)])
    assert [one.answer.id for one in propose_answers(engine, 10)] == ["a2"]
    engine.write([Post("a2", body="Ask a shop.", kind="answer", parent="q1", score=-3)])
    assert [one.answer.id for one in propose_answers(engine, 10)] == ["a1"]
    decide(engine, "dismiss", "q2", "q1")
    assert duplicates(engine) == []
    engine.write([], [Link("q2", "q1")])
    assert propose_answers(engine, 10) == []
    engine.overview()
    assert searched == []


def test_a_new_question_is_searched_alone(engine, searched):
    assert duplicates(engine) == [("q2", "q1")]
    searched.clear()
    engine.write([Post("q4", OTHER, created="2020-04-01")])
    assert sorted(duplicates(engine)) == [("q2", "q1"), ("q4", "q3")]
    assert searched == ["q4"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (Post("q0", OTHER, created="2019-01-01"), [("q2", "q1"), ("q3", "q0")]),  # older
        (Post("q1", OTHER, created="2020-01-01"), [("q3", "q1")]),  # edited
        (None, []),  # deleted
    ],
)
def test_an_older_edited_or_deleted_question_changes_what_newer_ones_repeat(
    engine, change, expected
):
    assert duplicates(engine) == [("q2", "q1")]
    engine.write([change]) if change else engine.delete(["q1"])
    assert sorted(duplicates(engine)) == expected


def test_what_is_remembered_is_bounded_and_ends_with_its_model(engine, searched, monkeypatch):
    monkeypatch.setattr(checked, "REMEMBERED", 2)
    assert duplicates(engine) == duplicates(engine)
    assert len(searched) == 4  # three, then the one that was forgotten
    monkeypatch.setattr(engine.checked, "_seen", ("0001", engine.archive.change))
    searched.clear()
    duplicates(engine)
    assert sorted(searched) == ["q1", "q2", "q3"]
