"""Pools of an archive: which posts are right, wrong, missed or left out, and how many."""

from collections import Counter
from dataclasses import replace
from itertools import chain

import pytest

from askonce.archive import Snapshot
from askonce.archive.desk.feedback import WeightedLabel
from askonce.index.lexical import LexicalIndex
from askonce.training.archive.candidates import teaching
from askonce.training.archive.tasks.labels import ArchiveLabels
from askonce.training.archive.tasks.pools import draw_pools, question_task
from askonce.types import Link, Post
from tests.training.small_archives import (
    SPLITS,
    WORDS,
    answer_dataset,
    forum,
    queries,
    question_dataset,
)


def ids(posts):
    return {post.id for post in posts}


def pool_of(data, query):
    (pool,) = [p for split in data.splits.values() for p in split if p.query.id == query]
    return pool


def test_duplicates_are_right_for_each_other_through_others():
    data = question_dataset(forum(28, [(3, 1), (5, 3), (2, 8), (9, 7), (20, 21), (23, 22)]))
    assert ids(pool_of(data, "q1").positives) == {"q3", "q5"}
    assert ids(pool_of(data, "q5").positives) == {"q1", "q3"}
    assert sorted(queries(data, "train")) == ["q1", "q2", "q3", "q5", "q7", "q8", "q9"]
    assert sorted(queries(data, "dev")) == ["q20", "q21"]  # a cluster is as old as its newest
    assert sorted(queries(data, "test")) == ["q22", "q23"]


def test_questions_that_a_moderator_dismissed_are_wrong_candidates():
    archive = forum(28, [(n, n + 1) for n in range(0, 28, 2)])
    against = [
        WeightedLabel("", "q15", 1.0, False, "q2"),
        WeightedLabel("", "q27", 1.0, False, "q2"),
    ]
    against.append(WeightedLabel("", "q1", 1.0, False, "q0"))  # then marked as duplicates after all
    labels = ArchiveLabels.of(replace(archive, weighted_labels=tuple(against)))
    task = draw_pools(question_task(labels))
    labelled = chain.from_iterable(task.queries.values())
    wrong = {x.query.id: ids(x.wrong) for x in labelled if x.wrong}
    assert wrong == {"q2": {"q15"}, "q15": {"q2"}, "q27": {"q2"}}  # q27 is newer than q2
    assert "q15" in ids(pool_of(task.dataset, "q2").candidates)
    assert "q15" not in ids(pool_of(task.dataset, "q2").positives)


def test_new_questions_are_evidence_only_with_all_that_is_near_them(monkeypatch):
    monkeypatch.setattr(teaching, "MIN_COMPARED", 2)
    task = draw_pools(question_task(ArchiveLabels.of(many(200))))
    asked = task.asked_sample("dev")
    first, second = (x.query for x in asked[:2])
    assert set(task.near) == {x.query.id for s in ("dev", "test") for x in task.asked_sample(s)}
    assert all(0 < len(near) <= 10 for near in task.near.values())
    assert first.id not in ids(task.near[first.id])

    def known(*unread):
        teacher = teaching.ArchiveTeacher(None, frozenset(post.text for post in unread))
        return {x.query.id for x in teacher.known(task).asked_sample("dev")}

    everything = {x.query.id for x in asked}
    assert known() == everything
    missing = task.near[first.id][-1]
    rest = {x for x in everything if missing.id not in {x, *ids(task.near[x])}}
    assert first.id not in rest and known(missing) <= rest
    assert known(*(x.query for x in asked[1:])) == set()  # one is too few to fit anything on
    assert second.id not in known(second)


PAIRS = [(n, n + 1) for n in range(0, 28, 2)]


def many(count, marked=PAIRS):
    """A forum with undated questions beside the dated ones, which are then the oldest."""
    archive = forum(28, marked)
    others = [Post(f"x{n}", f"{WORDS[n % 10]} question {n}", f"about {n}") for n in range(count)]
    return replace_posts(archive, questions={**archive.questions, **{q.id: q for q in others}})


def replace_posts(archive, questions=None, answers=None, links=None):
    return Snapshot(
        archive.name,
        archive.questions if questions is None else questions,
        archive.answers if answers is None else answers,
        archive.links if links is None else links,
    )


def test_sizes_of_question_pools():
    data = question_dataset(many(200))
    assert Counter(len(p.candidates) for p in data.split("train")) == {31: 22}
    assert Counter(len(p.candidates) for s in ("dev", "test") for p in data.split(s)) == {100: 6}
    assert len(data.corpus) == 228
    near = LexicalIndex()
    near.add(data.corpus)
    near_ids = [hit.id for hit in near.search(data.split("test")[0].query.text, 60)]
    pool = pool_of(data, data.split("test")[0].query.id)
    assert len(ids(pool.candidates) & set(near_ids)) >= 50
    another = question_dataset(many(200), seed=2)
    assert [p.query for p in another.split("dev")] == [p.query for p in data.split("dev")]
    assert another.split("dev") != data.split("dev")


def test_what_bm25_does_not_find_is_missed_when_ranking_and_learnt_from_in_training():
    archive = many(100)
    other = {
        name: replace(post, title="wholly unlike", body="")
        for name, post in archive.questions.items()
        if name in ("q1", "q27")
    }
    data = question_dataset(replace_posts(archive, questions={**archive.questions, **other}))
    train, test = pool_of(data, "q0"), pool_of(data, "q26")
    assert ids(train.positives) == {"q1"}
    assert not train.missed
    assert ids(test.missed) == {"q27"}
    assert sum(test.labels) == 0
    assert len(test.candidates) == 100


def test_order_of_candidates_does_not_betray_the_labels():
    data = question_dataset(many(100))
    places = [pool.labels.index(1) for pool in data.split("train")]
    assert 8 < sum(places) / len(places) < 22


def test_titles_ask_for_bodies_where_nearly_nothing_is_marked():
    data = question_dataset(forum(20, [(2, 1), (4, 3), (6, 5)]))  # six questions, fewer than ten
    assert {split: len(pools) for split, pools in data.splits.items()} == {
        "train": 16,
        "dev": 2,
        "test": 2,
    }
    pool = pool_of(data, "q1")
    assert pool.query == Post("q1", "brake number 1", created="2020-01-02")
    assert [post.id for post in pool.positives] == ["q1:body"]
    assert "q2:body" not in ids(pool.candidates)  # its duplicate's body may be right as well
    assert not any(post.title for post in pool.candidates)


def test_related_questions_are_left_out():
    archive = many(0)
    related = (*archive.links, Link("q0", "q5", "related"))
    data = question_dataset(replace_posts(archive, links=related))
    assert "q5" not in ids(pool_of(data, "q0").candidates)
    assert "q0" not in ids(pool_of(data, "q5").candidates)
    assert "q4" in ids(pool_of(data, "q0").candidates)


def answered(*votes, accepted=None):
    """A forum whose question q0 has answers with these votes."""
    archive = forum(12)
    own = {
        f"v{n}": Post(
            f"v{n}", "", f"say {n}", "answer", parent="q0", score=score, accepted=n == accepted
        )
        for n, score in enumerate(votes)
    }
    others = {name: answer for name, answer in archive.answers.items() if answer.parent != "q0"}
    return replace_posts(archive, answers={**others, **own})


@pytest.mark.parametrize(
    ("archive", "right", "wrong"),
    [
        (answered(5, 9, 1, accepted=0), {"v0"}, {"v2"}),  # 9 votes are not lower
        (answered(3, 2, 1, accepted=0), {"v0"}, {"v2"}),
        (answered(1, 0, -1, accepted=0), {"v0"}, {"v2"}),
        (answered(None, None, accepted=1), {"v1"}, set()),
        (answered(10, 6, 5, 1), {"v0"}, {"v2", "v3"}),
        (answered(2, 1, 0), {"v0"}, {"v2"}),
        (answered(2), {"v0"}, set()),
    ],
)
def test_votes_say_which_answers_are_right_and_wrong(archive, right, wrong):
    pool = pool_of(answer_dataset(archive), "q0")
    assert ids(pool.positives) == right
    assert {post.id for post in pool.negatives if post.parent == "q0"} == wrong


@pytest.mark.parametrize("votes", [(1,), (4, 4, 1), (None, None), ()])
def test_a_question_without_a_clear_answer_has_no_pool(votes):
    data = answer_dataset(answered(*votes))
    assert "q0" not in [query for split in SPLITS for query in queries(data, split)]


def test_answers_to_duplicates_are_never_candidates():
    data = answer_dataset(forum(20, [(4, 2), (6, 4)]))
    for query in ("q2", "q4", "q6"):
        pool = pool_of(data, query)
        assert not {"q2", "q4", "q6"} - {query} & {post.parent for post in pool.candidates}
        assert ids(pool.positives) == {f"a{query[1:]}-0"}


def test_sizes_of_answer_pools():
    data = answer_dataset(forum(28, answers=6))
    assert {split: len(pools) for split, pools in data.splits.items()} == {
        "train": 22,
        "dev": 3,
        "test": 3,
    }
    assert {len(pool.candidates) for pool in data.split("train")} == {36}  # six own, 15, 15
    assert {len(pool.candidates) for pool in data.split("test")} == {100}
    assert not any(pool.missed for split in data.splits.values() for pool in split)


NOTICE = "Possible Duplicate:\nTheir own words\n"


def test_no_text_gives_the_label_away():
    archive = many(60)
    title = archive.questions["q0"].title + " in the rain"
    leaky = {
        "q0": replace(archive.questions["q0"], title=f"{title} [duplicate]"),
        "q1": replace(archive.questions["q1"], body=f"{NOTICE}It fails, see {title}! /q/17"),
        "x1": replace(archive.questions["x1"], body=f"{title}, I read"),  # not its duplicate
    }
    answer = replace(archive.answers["a0-0"], body="see https://example.org/questions/3/x too")
    archive = replace_posts(
        archive, {**archive.questions, **leaky}, {**archive.answers, answer.id: answer}
    )
    data = question_dataset(archive)
    assert pool_of(data, "q0").query.title == title
    assert pool_of(data, "q1").query.body == "It fails, see  !"
    assert data.posts["q1"] == pool_of(data, "q1").query
    assert data.posts["x1"].body == f"{title}, I read"
    assert answer_dataset(archive).posts["a0-0"].body == "see   too"


def test_every_label_has_a_pool():
    archive = many(5)
    labels = ArchiveLabels.of(archive)
    counts = [len(labels.duplicates()), len(labels.titles()), len(labels.answered())]
    assert counts == [28, 33, 28]
    assert sum(len(members) > 1 for members in labels.members.values()) == 14
    assert sum(map(len, question_dataset(archive).splits.values())) == 28
    assert sum(map(len, answer_dataset(archive).splits.values())) == 28
