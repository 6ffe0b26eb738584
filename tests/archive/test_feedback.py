"""Marks of visitors: one per pair, capped per visitor and address, contradictions cancel."""

import pytest

from askonce.archive import Archive
from askonce.archive.desk.feedback import (
    ADDRESS_CAP,
    VISITOR_CAP,
    Feedback,
    anonymous,
    by_week,
    weigh_marks,
)
from askonce.types import Post


def mark(visitor, question="flat tyre", post="q", kind="same", address=None, **more):
    return Feedback(visitor, question, post, kind, address or f"at {visitor}", **more)


@pytest.fixture
def archive():
    archive = Archive.in_memory()
    archive.write([Post("q", "Why is my tyre flat?"), Post("p", "Which pump?")])
    yield archive
    archive.close()


def test_a_visitor_has_one_mark_for_a_pair(archive):
    marks = archive.feedback
    assert marks.add(mark("v"))
    assert not marks.add(mark("v", "Flat  TYRE", kind="different", model="0001", rank=2))
    assert marks.add(mark("v", post="p"))
    assert marks.add(mark("w"))
    assert not marks.add(mark("w", kind="click")), "a click replaces no explicit mark"
    stored = {(m.visitor, m.post): (m.mark, m.model, m.rank) for m in marks.all()}
    assert stored == {
        ("v", "q"): ("different", "0001", 2),
        ("v", "p"): ("same", None, None),
        ("w", "q"): ("same", None, None),
    }
    assert all(m.given.startswith("20") for m in marks.all())
    assert marks.remove("w", "FLAT tyre", "q")
    assert not marks.remove("w", "flat tyre", "q")
    assert len(marks.all()) == 2


def test_marks_of_several_visitors_add_up_to_a_full_label():
    (one,) = weigh_marks([mark("a")])
    assert (one.post, one.right, one.weight) == ("q", True, 0.5)
    (three,) = weigh_marks([mark("a"), mark("b"), mark("c")])
    assert three.weight == 1.0
    (against,) = weigh_marks([mark("a", kind="different"), mark("b", kind="different")])
    assert (against.right, against.weight) == (False, 1.0)


def test_contradictions_cancel():
    assert weigh_marks([mark("a"), mark("b", kind="different")]) == ()
    (left,) = weigh_marks([mark("a"), mark("b", kind="different"), mark("c"), mark("d")])
    assert (left.right, left.weight) == (True, 1.0)


def test_many_marks_of_one_visitor_or_one_address_count_for_little():
    fifty = [mark("vandal", post=f"q{n}") for n in range(50)]
    assert weigh_marks(fifty) == ()
    assert len(weigh_marks(fifty[: int(VISITOR_CAP)])) == VISITOR_CAP
    forgetful = [mark(f"v{n}", post=f"q{n}", address="one") for n in range(50)]
    assert weigh_marks(forgetful) == ()
    assert len(weigh_marks(forgetful[: int(ADDRESS_CAP)])) == ADDRESS_CAP
    honest = [mark(f"v{n}", post=f"q{n}") for n in range(50)]
    assert len(weigh_marks(honest)) == 50


def test_clicks_count_a_fifth():
    clicks = [mark(f"v{n}", kind="click") for n in range(3)]
    assert weigh_marks(clicks[:2]) == ()
    (three,) = weigh_marks(clicks)
    assert three.right
    assert three.weight == pytest.approx(0.3)


def test_a_snapshot_has_the_labels_of_posts_that_exist(archive):
    archive.feedback.add(mark("a"))
    archive.feedback.add(mark("a", post="gone"))
    assert [(x.post, x.weight) for x in archive.snapshot().weighted_labels] == [("q", 0.5)]


def test_weeks_show_ranks_and_false_claims():
    weeks = by_week(
        [
            mark("a", given="2026-03-02T10:00:00+00:00", rank=1, model="0001"),
            mark("b", given="2026-03-08T23:00:00+00:00", rank=4, model="0002"),
            mark("c", given="2026-03-04T10:00:00+00:00", kind="different", probability=0.8),
            mark("d", given="2026-03-09T10:00:00+00:00", kind="different", probability=0.2),
            mark("e", given="2026-03-09T10:00:00+00:00", kind="click"),
        ],
        floor=0.5,
    )
    assert [(w.week, w.marks, w.right, w.wrong, w.mrr, w.false_claims) for w in weeks] == [
        ("2026-03-02", 3, 2, 1, 0.625, 1),
        ("2026-03-09", 1, 0, 1, None, 0),
    ]
    assert weeks[0].models == ("0001", "0002", "bm25")


def test_hashes_do_not_show_the_visitor(archive):
    salt = archive.options.salt()
    assert salt == archive.options.salt()
    assert len(salt) == 32
    hashed = anonymous(salt, "10.0.0.7")
    assert hashed == anonymous(salt, "10.0.0.7") != anonymous(b"other", "10.0.0.7")
    assert "10.0.0.7" not in hashed
