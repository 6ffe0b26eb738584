import json

import pytest

from askonce.archive import open_archive, read_archive
from askonce.engine import Engine
from askonce.errors import AskonceError, DataError


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(open_archive("bicycles"))


def test_finds_the_question_already_asked(engine):
    for question in list(engine.archive.questions.values())[:50]:
        assert engine.similar(question.text, k=3)[0].post.id == question.id


def test_answers_follow_duplicates_to_the_original(engine):
    source = next(q for q in engine.archive.questions if engine.archive.original(q) != q)
    original = engine.archive.original(source)
    hits = engine.answers(engine.archive.questions[source].text, k=5)
    assert original in {hit.question.id for hit in hits}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_k_is_obeyed_and_checked(engine):
    assert len(engine.similar("bike", k=2)) == 2
    assert len(engine.answers("bike", k=7)) == 7
    for wrong in (0, -1):
        with pytest.raises(AskonceError, match=f"k = {wrong}"):
            engine.similar("bike", k=wrong)
    with pytest.raises(AskonceError, match="question is empty"):
        engine.answers("  ")


def test_unknown_archive_is_named():
    with pytest.raises(AskonceError, match="no archive 'nowhere'"):
        open_archive("nowhere")


QUESTION = {"id": "q", "kind": "question", "title": "t"}


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([QUESTION, QUESTION], "line 2: expected a new id, found 'q'"),
        ([{"kind": "question"}], "line 1: expected an id"),
        ([{"id": "q", "kind": "poll"}], "line 1: expected kind question, answer or link"),
        ([{"id": 7, "kind": "question"}], "line 1: expected a string as 'id', found 7"),
        ([[1]], "line 1: expected a JSON object"),
        ([{"id": "a", "kind": "answer", "parent": "x"}], "a question for answer 'a', found 'x'"),
        ([QUESTION, {"kind": "link", "source": "q"}], "a link with 'target'"),
        ([QUESTION, {"kind": "link", "source": "q", "target": "x"}], "links between known"),
        ([QUESTION, {"kind": "link", "source": "q", "target": "q", "link": "twin"}], "'twin'"),
    ],
)
def test_broken_archives_are_named(tmp_path, records, message):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records))
    with pytest.raises(DataError, match=message):
        read_archive(path)


def test_cyclic_duplicates_end(tmp_path):
    path = tmp_path / "a.jsonl"
    records = [
        {"id": "p", "kind": "question", "title": "one"},
        {"id": "q", "kind": "question", "title": "two"},
        {"kind": "link", "source": "p", "target": "q"},
        {"kind": "link", "source": "q", "target": "p"},
    ]
    path.write_text("\n".join(json.dumps(record) for record in records))
    archive = read_archive(path)
    assert archive.original("p") == "q"
    assert Engine(archive).answers("one") == []
