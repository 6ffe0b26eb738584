"""Which results are shown: folded duplicates, threads together, votes, filters, pages."""

import pytest

from askonce.archive import Archive
from askonce.engine import Engine
from askonce.engine.options import ResultOptions
from askonce.types import Link, Post


@pytest.fixture(scope="module")
def bicycles():
    with Engine.open("bicycles") as engine:
        yield engine


@pytest.fixture
def small():
    archive = Archive.in_memory("small")
    archive.write(
        [
            Post(
                "q1", "How do I fix a flat tyre?", tags=("tyres",), created="2020-01-05T10:00:00Z"
            ),
            Post("q2", "Flat tyre, what now?", tags=("tyres", "road"), created="2020-02-05"),
            Post("q3", "Tyre is flat every week", created="2021-03-01", score=9),
            Post("a1", body="patch the flat tyre", kind="answer", parent="q1", score=-3),
            Post("a2", body="new tube for a flat tyre", kind="answer", parent="q1", score=4),
            Post("a3", body="flat tyre: call a taxi", kind="answer", parent="q2", score=-1),
            Post("a4", body="flat tyre flat tyre", kind="answer", parent="q2", accepted=True),
        ],
        [Link("q2", "q1")],
    )
    with Engine(archive) as engine:
        engine.start(background=False)
        yield engine


def test_duplicates_are_folded_into_their_original(small):
    hits = small.similar("flat tyre, what now")
    assert [hit.id for hit in hits] == ["q1", "q3"]
    assert [(one.id, one.title) for one in hits[0].folded] == [("q2", "Flat tyre, what now?")]
    assert (hits[0].answers, hits[0].accepted) == (4, True)
    unfolded = small.similar("flat tyre, what now", options=ResultOptions(fold=False))
    assert {hit.id for hit in unfolded} == {"q1", "q2", "q3"}
    (duplicate,) = [hit for hit in unfolded if hit.id == "q2"]
    assert (duplicate.duplicate_of, duplicate.duplicate_of_title) == (
        "q1",
        "How do I fix a flat tyre?",
    )


def test_a_page_of_folded_results_is_full(bicycles):
    hits = bicycles.similar("how do I fix my bike", 20)
    assert len(hits) == len({hit.id for hit in hits}) == 20


def test_answers_of_a_thread_stand_together_and_rejected_ones_last(small):
    answers = small.answers("flat tyre")
    assert [answer.id for answer in answers][:2] == ["a4", "a2"]
    assert {answer.id for answer in answers[2:]} == {"a1", "a3"}
    assert {answer.thread for answer in answers} == {"q1"}
    assert answers[0].question_id == "q2"
    assert answers[0].thread_title == "How do I fix a flat tyre?"


def test_no_question_of_the_archive_gets_a_rejected_answer_first(bicycles):
    titles = [post.title for post in bicycles.archive.iterate("question")][:120]
    for answers in bicycles.answers_many(titles, 3):
        votes = [answer.votes or 0 for answer in answers if not answer.accepted]
        assert all(vote >= 0 for vote in votes[:1])
        threads = [answer.thread for answer in answers]
        assert threads == sorted(threads, key=threads.index), "threads are divided"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"tags": ("tyres",)}, {"q1", "q2"}),
        ({"tags": ("tyres", "road")}, {"q2"}),
        ({"after": "2020-02-05"}, {"q2", "q3"}),
        ({"before": "2020-01-05"}, {"q1"}),
        ({"after": "2020-02-01", "before": "2020-12-31"}, {"q2"}),
        ({"answered": False}, {"q3"}),
        ({"answered": True}, {"q1", "q2"}),
    ],
)
def test_filters(small, options, expected):
    hits = small.similar("flat tyre", options=ResultOptions(fold=False, **options))
    assert {hit.id for hit in hits} == expected


def test_sorting(small):
    def order(sort):
        hits = small.similar("flat tyre", options=ResultOptions(fold=False, sort=sort))
        return [hit.id for hit in hits]

    assert order("newest") == ["q3", "q2", "q1"]
    assert order("votes")[0] == "q3"


def test_pages_follow_each_other_without_gaps(bicycles):
    question = "how do I fix my bike"
    first = [hit.id for hit in bicycles.similar(question, 10)]
    paged = []
    for offset in range(0, 60, 10):
        hits = bicycles.similar(question, 10, options=ResultOptions(offset=offset))
        paged += [hit.id for hit in hits]
    assert paged[:10] == first
    assert len(set(paged)) == len(paged) == 60
