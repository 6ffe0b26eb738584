import json
from importlib.util import find_spec

import pytest

from askonce.data.forums import IMPORTERS, Source
from askonce.types import Link, Post


@pytest.fixture
def package(tmp_path):
    def write(name, records):
        (tmp_path / f"{name}.json").write_text(json.dumps(records))

    def asked(text, *answers):
        return {"en": text, "domain": "auto-insurance", "answers": answers, "negatives": []}

    write("train", {"0": asked("Is  It?", "7"), "1": asked("Was  It?", "8", "7")})
    write("valid", {"0": asked("Is It Not?", "7")})
    write("test", {"0": asked("Who?", "9"), "1": {"zh": "?"}})
    write("answers", {"7": {"en": "It  is."}, "8": {"en": "Was."}, "9": {"en": "I."}, "10": {}})
    return tmp_path


def test_a_shared_answer_stands_once_and_makes_duplicates(imported, package):
    archive, summary = imported("insuranceqa", package)
    assert archive.post("q-train-0") == Post("q-train-0", "Is It?", tags=("auto-insurance",))
    right = Post("a-7", body="It is.", kind="answer", parent="q-train-0", accepted=True)
    assert archive.answers_to(["q-train-0"]) == {"q-train-0": [right]}
    assert archive.post("a-8").parent == "q-train-1"
    assert archive.links() == [Link("q-train-1", "q-train-0"), Link("q-valid-0", "q-train-0")]
    assert (summary.added, summary.damaged) == (7, 2)
    assert "test.json, question '1'" in summary.examples[0]


@pytest.mark.skipif(find_spec("insuranceqa_data") is None, reason="needs the extra 'demo'")
@pytest.mark.slow
def test_the_package():
    records = list(IMPORTERS["insuranceqa"](Source()))
    posts = {record.id: record for record in records if isinstance(record, Post)}
    questions = {name for name, post in posts.items() if post.kind == "question"}
    answers = [post for post in posts.values() if post.kind == "answer"]
    links = [record for record in records if isinstance(record, Link)]
    assert (len(questions), len(answers), len(links)) == (16_889, 27_413, 439)
    assert len(records) == len(posts) + len(links)  # no id twice, nothing damaged
    assert all(answer.accepted and answer.parent in questions for answer in answers)
    assert all({link.source, link.target} <= questions for link in links)
