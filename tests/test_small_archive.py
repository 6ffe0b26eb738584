"""The archive that Askonce carries keeps its promises: counts, order, links, hard duplicates."""

import json
import re
from collections import defaultdict
from datetime import datetime
from functools import cache
from importlib.resources import files

Row = dict[str, object]

MAX_BYTES = 450_000


@cache
def text() -> str:
    return (files("askonce.data") / "bicycles.jsonl").read_text(encoding="utf-8")


@cache
def rows(kind: str) -> list[Row]:
    return [row for row in map(json.loads, text().splitlines()) if row["kind"] == kind]


@cache
def questions() -> dict[str, Row]:
    return {row["id"]: row for row in rows("question")}


@cache
def answers_of() -> dict[str, list[Row]]:
    grouped = defaultdict(list)
    for answer in rows("answer"):
        grouped[answer["parent"]].append(answer)
    return dict(grouped)


@cache
def original_of() -> dict[str, str]:
    return {row["source"]: row["target"] for row in rows("link") if row["link"] == "duplicate"}


def end_of_chain(question: str) -> str:
    seen = {question}
    while question in original_of():
        question = original_of()[question]
        assert question not in seen, f"duplicates go round in a circle at {question}"
        seen.add(question)
    return question


def content_words(question: Row) -> set[str]:
    words = re.findall(r"[a-z0-9]+", f"{question['title']} {question['body']}".lower())
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return set(words) - ENGLISH_STOP_WORDS


def shared(duplicate: str, original: str) -> float:
    """How many of the duplicate's content words its original has too."""
    words = content_words(questions()[duplicate])
    return len(words & content_words(questions()[original])) / len(words)


def word_count(value: object) -> int:
    return len(str(value).split())


def test_it_is_small_and_large_enough():
    assert len(text().encode()) <= MAX_BYTES
    assert len(rows("question")) >= 160
    assert len(rows("answer")) >= 400
    assert len(original_of()) >= 40
    assert len(text().splitlines()) == sum(
        len(rows(kind)) for kind in ("question", "answer", "link")
    )


def test_every_line_has_exactly_the_fields_of_its_kind():
    fields = {
        "question": {"id", "kind", "title", "body", "tags", "score", "created"},
        "answer": {"id", "kind", "parent", "body", "score", "accepted", "created"},
        "link": {"kind", "source", "target", "link"},
    }
    for kind, expected in fields.items():
        assert all(row.keys() == expected for row in rows(kind)), kind
    assert all(question["tags"] for question in rows("question"))
    assert {link["link"] for link in rows("link")} == {"duplicate", "related"}


def test_ids_are_unique_and_sorted_by_date():
    ids = [row["id"] for row in rows("question") + rows("answer")]
    assert len(ids) == len(set(ids))
    for kind in ("question", "answer"):
        assert rows(kind) == sorted(rows(kind), key=lambda row: row["id"])
        assert rows(kind) == sorted(rows(kind), key=lambda row: row["created"])


def test_no_text_comes_twice():
    titles = [question["title"] for question in rows("question")]
    bodies = [answer["body"] for answer in rows("answer")]
    assert len(titles) == len(set(titles))
    assert len(bodies) == len(set(bodies))


def test_dates_lie_in_the_promised_years():
    for row in rows("question") + rows("answer"):
        created = datetime.strptime(row["created"], "%Y-%m-%dT%H:%M:%SZ")
        assert 2021 <= created.year <= 2026


def test_answers_follow_their_question():
    for answer in rows("answer"):
        assert answer["created"] > questions()[answer["parent"]]["created"]


def test_links_join_a_later_question_to_an_earlier_one():
    for link in rows("link"):
        source, target = questions()[link["source"]], questions()[link["target"]]
        assert source["created"] > target["created"]
    pairs = [(link["source"], link["target"]) for link in rows("link")]
    assert len(pairs) == len(set(pairs))


def test_every_duplicate_leads_to_an_answered_question():
    for duplicate in original_of():
        assert len(answers_of()[end_of_chain(duplicate)]) >= 2
        assert len(answers_of().get(duplicate, ())) <= 1


def test_some_originals_are_unanswered_and_the_others_have_two_to_five_answers():
    counts = [len(answers_of().get(id, ())) for id in questions().keys() - original_of().keys()]
    assert 5 <= counts.count(0) <= 12
    assert set(counts) <= {0, 2, 3, 4, 5}


def test_texts_have_the_length_of_a_forum():
    for question in rows("question"):
        assert 4 <= word_count(question["title"]) <= 14, question["id"]
        assert word_count(question["body"]) <= 60, question["id"]
    for answer in rows("answer"):
        assert 8 <= word_count(answer["body"]) <= 90, answer["id"]


def test_texts_are_plain_and_trimmed():
    for row in rows("question") + rows("answer"):
        for value in (row.get("title", ""), row["body"]):
            assert value == value.strip()
            assert not re.search(r"<[a-z/]|\\n|&[a-z]+;|  |\|", value), row["id"]
    assert sum("\n" in answer["body"] for answer in rows("answer")) >= 5


def test_scores_vary_within_a_question():
    for question, given in answers_of().items():
        if len(given) > 1:
            assert len({answer["score"] for answer in given}) > 1, question
    assert sum(answer["score"] < 0 for answer in rows("answer")) >= 40


def test_most_answered_originals_accept_exactly_one_answer():
    accepted = [
        sum(answer["accepted"] for answer in given)
        for question, given in answers_of().items()
        if question not in original_of()
    ]
    assert set(accepted) == {0, 1}
    assert 0.7 <= sum(accepted) / len(accepted) < 1


def test_duplicates_range_from_same_words_to_other_words():
    shares = [shared(duplicate, end_of_chain(duplicate)) for duplicate in original_of()]
    few = sum(share < 0.5 for share in shares) / len(shares)
    assert few >= 1 / 3
    assert sum(share >= 0.5 for share in shares) >= 5
    assert sum(share < 0.1 for share in shares) >= 10
