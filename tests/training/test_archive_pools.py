import csv
import gzip
import html
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from askonce.archive import Snapshot, open_archive
from askonce.errors import AskonceError
from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.index.lexical import LexicalIndex
from askonce.text.html import html_to_text
from askonce.training.archive_pools import answer_dataset, describe, question_dataset
from askonce.training.archive_splits import split_by_time
from askonce.types import Link, Post

SPLITS = ("train", "dev", "test")
WORDS = ["chain", "brake", "tyre", "hub", "spoke", "saddle", "fork", "pedal", "rim", "lamp"]


def archive_of(questions, answers=(), links=()):
    return Snapshot("small", {q.id: q for q in questions}, {a.id: a for a in answers}, tuple(links))


def forum(count=20, marked=(), answers=2, dated=True):
    """Questions q0, q1, ... a day apart, the first answer of each accepted."""
    questions = [
        Post(
            f"q{n}",
            f"{WORDS[n % 10]} number {n}",
            f"my {WORDS[n % 7]} fails {n}",
            created=f"2020-01-{n + 1:02}" if dated else None,
        )
        for n in range(count)
    ]
    given_answers = [
        Post(
            f"a{n}-{k}",
            body=f"oil the {WORDS[n % 10]} {n} {k}",
            kind="answer",
            parent=f"q{n}",
            score=5 - 3 * k,
            accepted=k == 0,
        )
        for n in range(count)
        for k in range(answers)
    ]
    links = [Link(f"q{a}", f"q{b}") for a, b in marked]
    return archive_of(questions, given_answers, links)


def ids(posts):
    return {post.id for post in posts}


def question_of(post):
    return post.parent or post.id.removesuffix(":body")


def queries(data, split):
    return [pool.query.id for pool in data.splits[split]]


def pool_of(data, query):
    (pool,) = [p for split in data.splits.values() for p in split if p.query.id == query]
    return pool


def clusters(archive):
    """What is the same question as each, found by walking all marks again and again."""
    same = {name: {name} for name in archive.questions}
    for _ in archive.questions:
        for link in archive.links:
            if link.kind == "duplicate" and {link.source, link.target} <= same.keys():
                joint = same[link.source] | same[link.target]
                for name in joint:
                    same[name] = joint
    return same


@st.composite
def archives(draw):
    """Forums with marks in chains and circles, marks to nowhere, votes and dates or none."""
    names = draw(st.permutations([f"q{n}" for n in range(draw(st.integers(12, 20)))]))
    date = st.none() | st.integers(1, 28).map(lambda day: f"2020-01-{day:02}")
    text = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
    questions = [Post(name, draw(text), draw(text), created=draw(date)) for name in names]
    end = st.sampled_from([*names, "deleted"])
    kind = st.sampled_from(["duplicate", "related"])
    links = draw(st.lists(st.builds(Link, end, end, kind), max_size=4))
    links += [Link(*pair) for pair in pairwise(names) if draw(st.booleans())]
    answer = st.tuples(text, st.none() | st.integers(-3, 9), st.booleans())
    answers = [
        Post(f"{name}-{n}", body=body, kind="answer", parent=name, score=score, accepted=accepted)
        for name in [*names, "deleted"]
        for n, (body, score, accepted) in enumerate(draw(st.lists(answer, max_size=3)))
    ]
    return archive_of(questions, answers, draw(st.permutations(links)))


@pytest.mark.parametrize("make", [question_dataset, answer_dataset])
@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(archive=archives())
def test_no_question_is_in_two_splits_and_no_right_post_is_wrong(make, archive):
    try:
        data = make(archive)
    except AskonceError:
        assume(False)
    same = clusters(archive)
    asked, held = {}, {}
    for split in SPLITS:
        assert data.splits[split]
        asked[split] = set().union(
            *(same[pool.query.id] for pool in data.splits[split]),
            *(same[question_of(p)] for pool in data.splits[split] for p in pool.positives),
        )
        pools = data.splits[split]
        held[split] = set().union(*(same[question_of(p)] for x in pools for p in x.candidates))
    assert not asked["train"] & asked["dev"]
    assert not asked["train"] & asked["test"]
    assert not asked["dev"] & asked["test"]
    assert not held["train"] & (asked["dev"] | asked["test"])
    assert not held["dev"] & asked["test"]

    def newest(name):
        posts = [archive.questions[q] for q in same[name]]
        return max(post.created or "" for post in posts if post.text)  # empty posts are left out

    for before, after in pairwise(SPLITS):
        assert max(map(newest, asked[before])) <= min(map(newest, asked[after]))
    for split, pools in data.splits.items():
        for pool in pools:
            check_pool(same, pool, found_only=split != "train")


def check_pool(same, pool, found_only):
    assert pool.positives
    assert found_only or not pool.missed
    names = [post.id for post in pool.candidates]
    assert len(names) == len(set(names))
    kin = same[pool.query.id]
    wrong_kin = [post for post in pool.negatives if question_of(post) in kin]
    assert all(post.parent == pool.query.id for post in wrong_kin)  # its own answers with few votes
    assert {question_of(post) for post in pool.positives} <= kin
    assert pool.query.id not in names
    assert not {post.text for post in pool.negatives} & {post.text for post in pool.positives}
    assert all(post.text.strip() for post in (pool.query, *pool.candidates))


def test_duplicates_are_right_for_each_other_through_others():
    data = question_dataset(forum(28, [(3, 1), (5, 3), (2, 8), (9, 7), (20, 21), (23, 22)]))
    assert ids(pool_of(data, "q1").positives) == {"q3", "q5"}
    assert ids(pool_of(data, "q5").positives) == {"q1", "q3"}
    assert sorted(queries(data, "train")) == ["q1", "q2", "q3", "q5", "q7", "q8", "q9"]
    assert sorted(queries(data, "dev")) == ["q20", "q21"]  # a cluster is as old as its newest
    assert sorted(queries(data, "test")) == ["q22", "q23"]


PAIRS = [(n, n + 1) for n in range(0, 28, 2)]


def many(count, marked=PAIRS):
    """A forum with undated questions beside the dated ones, which are then the oldest."""
    some = forum(28, marked)
    others = [Post(f"x{n}", f"{WORDS[n % 10]} question {n}", f"about {n}") for n in range(count)]
    return replace_posts(some, questions={**some.questions, **{q.id: q for q in others}})


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
    found = [hit.id for hit in near.search(data.split("test")[0].query.text, 60)]
    pool = pool_of(data, data.split("test")[0].query.id)
    assert len(ids(pool.candidates) & set(found)) >= 50
    another = question_dataset(many(200), seed=2)
    assert [p.query for p in another.split("dev")] == [p.query for p in data.split("dev")]
    assert another.split("dev") != data.split("dev")


def test_what_bm25_does_not_find_is_missed_when_ranking_and_learnt_from_in_training():
    some = many(100)
    other = {
        name: replace(post, title="wholly unlike", body="")
        for name, post in some.questions.items()
        if name in ("q1", "q27")
    }
    data = question_dataset(replace_posts(some, questions={**some.questions, **other}))
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
    some = many(0)
    related = (*some.links, Link("q0", "q5", "related"))
    data = question_dataset(replace_posts(some, links=related))
    assert "q5" not in ids(pool_of(data, "q0").candidates)
    assert "q0" not in ids(pool_of(data, "q5").candidates)
    assert "q4" in ids(pool_of(data, "q0").candidates)


def answered(*votes, accepted=None):
    """A forum whose question q0 has answers with these votes."""
    some = forum(12)
    own = {
        f"v{n}": Post(
            f"v{n}", "", f"say {n}", "answer", parent="q0", score=score, accepted=n == accepted
        )
        for n, score in enumerate(votes)
    }
    others = {name: answer for name, answer in some.answers.items() if answer.parent != "q0"}
    return replace_posts(some, answers={**others, **own})


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
    some = many(60)
    title = some.questions["q0"].title + " in the rain"
    leaky = {
        "q0": replace(some.questions["q0"], title=f"{title} [duplicate]"),
        "q1": replace(some.questions["q1"], body=f"{NOTICE}It fails, see {title}! /q/17"),
        "x1": replace(some.questions["x1"], body=f"{title}, I read"),  # not its duplicate
    }
    answer = replace(some.answers["a0-0"], body="see https://example.org/questions/3/x too")
    archive = replace_posts(some, {**some.questions, **leaky}, {**some.answers, answer.id: answer})
    data = question_dataset(archive)
    assert pool_of(data, "q0").query.title == title
    assert pool_of(data, "q1").query.body == "It fails, see  !"
    assert data.posts["q1"] == pool_of(data, "q1").query
    assert data.posts["x1"].body == f"{title}, I read"
    assert answer_dataset(archive).posts["a0-0"].body == "see   too"


@pytest.mark.parametrize("dated", [True, False])
def test_ten_questions_fill_all_splits(dated):
    for make in (question_dataset, answer_dataset):
        data = make(forum(10, dated=dated))
        assert [len(data.splits[split]) for split in SPLITS] == [8, 1, 1]
    assert (queries(data, "test") == ["q9"]) == dated


def test_a_large_archive_tests_on_a_thousand_and_trains_on_the_rest():
    questions = {f"q{n}": Post(f"q{n}", created=f"{n:05}") for n in range(20_000)}
    cluster_of = {name: n for n, name in enumerate(questions)}
    labelled = [name for n, name in enumerate(questions) if n % 2]
    split_of = split_by_time(questions, cluster_of, labelled[:400])
    assert Counter(split_of[name] for name in labelled[:400]) == {
        "train": 320,
        "dev": 40,
        "test": 40,
    }
    split_of = split_by_time(questions, cluster_of, questions)
    assert Counter(split_of.values()) == {"train": 18_000, "dev": 1_000, "test": 1_000}
    assert split_of["q17999"] == "train"
    assert split_of["q19000"] == "test"


@pytest.mark.parametrize(
    ("make", "archive", "message"),
    [
        (question_dataset, forum(0), "'small' holds no question; training compares"),
        (answer_dataset, forum(1), "'small' holds one question; training compares"),
        (answer_dataset, forum(20, answers=0), "'small' has no accepted answer and none with two"),
        (
            question_dataset,
            archive_of([Post("q1", "one"), Post("q2", "two")]),
            "'small' has no marked duplicates and no question with both a title and a body",
        ),
        (answer_dataset, forum(3), "of 3 different questions; at least 4 are needed"),
        (answer_dataset, forum(5, [(1, 0), (2, 1)]), "of 3 different questions"),
    ],
)
def test_too_little_to_learn_from(make, archive, message):
    with pytest.raises(AskonceError, match=re.escape(message)):
        make(archive)


def test_describe_counts_what_the_pools_hold():
    archive = many(5)
    counts = describe(archive)
    assert counts == {
        "questions": 33,
        "answers": 56,
        "accepted": 28,
        "duplicates": 14,
        "clusters": 14,
        "duplicate_pools": 28,
        "title_pools": 33,
        "answer_pools": 28,
    }
    assert sum(map(len, question_dataset(archive).splits.values())) == counts["duplicate_pools"]
    assert sum(map(len, answer_dataset(archive).splits.values())) == counts["answer_pools"]
    assert set(describe(forum(0)).values()) == {0}


def bm25_map(data, split):
    index = LexicalIndex()
    index.add(data.posts.values())
    pools = data.splits[split]
    run = pools_to_run(pools, [index.scores(pool) for pool in pools])
    return evaluate(pools_to_qrels(pools), run, data.protocol).metrics["MAP"]


def test_the_built_in_archive():
    archive = open_archive("bicycles").snapshot()
    questions, answers = question_dataset(archive), answer_dataset(archive)
    assert questions == question_dataset(archive)
    assert answers == answer_dataset(archive)
    assert [len(questions.splits[split]) for split in SPLITS] == [87, 11, 11]
    assert [len(answers.splits[split]) for split in SPLITS] == [138, 17, 17]
    assert bm25_map(questions, "test") == pytest.approx(0.362, abs=0.001)
    assert bm25_map(answers, "test") == pytest.approx(0.204, abs=0.001)


@pytest.mark.data
def test_a_real_forum(data_folder):
    with gzip.open(data_folder / "devops_se" / "posts.csv.gz", "rt", newline="") as file:
        rows = [row for _, row in zip(range(2000), csv.DictReader(file), strict=False)]
    accepted = {row["accepted_answer_id"] for row in rows}
    posts = [
        Post(
            row["id"],
            html.unescape(row["title"]),
            html_to_text(html.unescape(row["body"])),
            "question" if row["post_type_id"] == "1" else "answer",
            parent=row["parent_id"] or None,
            score=int(row["score"] or 0),
            accepted=row["id"] in accepted,
            created=row["creation_date"],
        )
        for row in rows
        if row["post_type_id"] in "12"
    ]
    archive = archive_of(
        [post for post in posts if post.kind == "question"],
        [post for post in posts if post.kind == "answer"],
    )
    data = answer_dataset(archive)
    sizes = [len(data.splits[split]) for split in SPLITS]
    assert sum(sizes) == describe(archive)["answer_pools"]
    last = max(pool.query.created for pool in data.split("train"))
    assert last <= min(pool.query.created for pool in data.split("dev"))
    assert sizes == [442, 56, 55]
    assert bm25_map(data, "test") == pytest.approx(0.678, abs=0.001)
