"""Splits of an archive: by time, no question in two, on made and on real forums."""

import csv
import gzip
import html
import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from askonce.archive import open_archive
from askonce.errors import AskonceError
from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.index.lexical import LexicalIndex
from askonce.text.html import html_to_text
from askonce.training.archive.tasks.labels import ArchiveLabels
from askonce.training.archive.tasks.splits import split_by_time
from askonce.types import Link, Post
from tests.training.small_archives import (
    SPLITS,
    WORDS,
    answer_dataset,
    archive_of,
    forum,
    queries,
    question_dataset,
)


def question_of(post):
    return post.parent or post.id.removesuffix(":body")


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
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
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
@pytest.mark.slow
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
    assert sum(sizes) == len(ArchiveLabels.of(archive).answered())
    last = max(pool.query.created for pool in data.split("train"))
    assert last <= min(pool.query.created for pool in data.split("dev"))
    assert sizes == [442, 56, 55]
    assert bm25_map(data, "test") == pytest.approx(0.668, abs=0.001)
