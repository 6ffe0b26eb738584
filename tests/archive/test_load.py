from dataclasses import replace

import pytest

from askonce.archive import load
from askonce.archive.load import BATCH, SHOWN
from askonce.data.forums import Damaged
from askonce.errors import AskonceError
from askonce.types import Link, Post

pytestmark = pytest.mark.parametrize("archive", ["memory", "postgres"], indirect=True)


def question(number, **values):
    return Post(f"q{number}", f"title {number}", **values)


def answer(number, parent, **values):
    return Post(f"a{number}", body=f"answer {number}", kind="answer", parent=parent, **values)


def test_batches_are_reported_and_counted(archive):
    reported = []
    posts = [question(n) for n in range(2 * BATCH + 1)]
    summary = load(archive, iter(posts), lambda so_far: reported.append(so_far.posts))
    assert reported == [BATCH, 2 * BATCH, 2 * BATCH + 1, 2 * BATCH + 1]
    assert summary.added == len(list(archive.iterate())) == len(posts)


def test_once_more_updates(archive):
    first = [question(1), question(2), answer(1, "q1"), Link("q2", "q1")]
    load(archive, first)
    change = archive.change
    again = load(archive, first)
    assert (again.added, again.changed, again.unchanged, again.links) == (0, 0, 3, 1)
    assert archive.change == change
    later = load(archive, [question(1), replace(question(2), body="edited"), question(3)])
    assert (later.added, later.changed, later.unchanged) == (1, 1, 1)
    assert archive.post("a1") is not None  # what a later source does not hold stays


def test_answers_and_links_wait_for_their_questions(archive):
    many = [answer(n, "q1", html="<b>x</b>", tags=("t",)) for n in range(2 * BATCH)]
    records = [Link("q2", "q1"), *many, answer("x", "q9"), question(2), question(1)]
    summary = load(archive, records)
    assert (summary.added, summary.links, summary.damaged) == (2 * BATCH + 2, 1, 1)
    assert summary.examples == ["post 'ax': expected its question 'q9', found none"]
    assert archive.posts([many[7].id]) == {many[7].id: many[7]}
    # an answer without a question never was in it
    assert archive.change == summary.added + summary.links
    assert load(archive, records).changed == 0


def test_a_question_of_an_earlier_import_is_found(archive):
    load(archive, [question(1), question(2)])
    summary = load(archive, [answer(1, "q1"), Link("q1", "q2"), Link("q1", "a1"), Link("q1", "q3")])
    assert (summary.added, summary.links, summary.unknown_links) == (1, 1, 2)


def test_circular_links_are_left_out_and_counted(archive):
    load(archive, [question(1), question(2)])
    circular = [Link("q1", "q1"), Link("q2", "q1")]
    summary = load(archive, [Link("q1", "q2"), *circular, Link("q2", "q1", "related")])
    assert (summary.links, summary.circular_links, summary.unknown_links) == (2, 2, 0)
    assert archive.links() == [Link("q1", "q2"), Link("q2", "q1", "related")]


def test_an_id_of_another_kind_is_damage(archive):
    load(archive, [question(1), question(2)])
    summary = load(archive, [replace(answer(1, "q2"), id="q1"), answer(2, "q1")])
    assert summary.examples == ["post 'q1': known as question, not answer"]
    assert (summary.added, archive.post("q1")) == (1, question(1))


def test_damage_is_counted_named_and_passed_over_unless_strict(archive):
    bad = [Damaged(f"f, line {n}", "expected sense") for n in range(SHOWN + 5)]
    records = [question(1), *bad, question(2)]
    summary = load(archive, records)
    assert (summary.added, summary.damaged, len(summary.examples)) == (2, SHOWN + 5, SHOWN)
    assert summary.examples[0] == "f, line 0: expected sense"
    with pytest.raises(AskonceError, match=r"^f, line 0: expected sense$"):
        load(archive, records, strict=True)


def test_text_that_a_database_refuses_is_cleaned(archive):
    load(archive, [Post("q", "a\0b\ud800c\x1f", "x\ty\r\nz\x0b", html="\x7f<b>\x00</b>")])
    assert archive.post("q") == Post("q", "abc", "x\ty\r\nz", html="<b></b>")
