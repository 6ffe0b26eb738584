import json
import re

import pytest

from askonce.data.benchmarks import load_dataset
from askonce.errors import AskonceError, DataError

PAIR = '{"question": "how?", "answer": "so", "label": 1}\n'


def pools_of(folder, content):
    (folder / "train.jsonl").write_text(content)
    return load_dataset("jsonl", folder).split("train")


def judged(pool):
    pairs = zip(pool.candidates, pool.labels, strict=True)
    return {post.text: label for post, label in pairs}


def test_both_forms_of_a_line(tmp_path):
    line = {
        "question": "why?",
        "candidates": [{"text": "a", "label": 2}, {"text": "b", "label": 0}],
    }
    more = '{"question": "how?", "answer": "not so", "label": false}\n'
    how, why = pools_of(tmp_path, f"{PAIR}{json.dumps(line)}\n\n{more}")
    assert (how.query.title, judged(how)) == ("how?", {"so": 1, "not so": 0})
    assert (why.query.title, judged(why)) == ("why?", {"a": 2, "b": 0})


def test_ids(tmp_path):
    line = (
        '{"question_id": 4, "question": "q", "candidates": [{"id": "x", "text": "a", "label": 1}]}'
    )
    pair = '{"question_id": "5", "question": "q", "answer_id": "x", "answer": "a", "label": 0}'
    first, second = pools_of(tmp_path, f"{line}\n{pair}\n")
    assert (first.query.id, second.query.id) == ("4", "5")
    assert first.candidates[0].id == "x"
    assert first.candidates[0] is second.candidates[0]


def test_only_the_splits_that_exist(tmp_path):
    (tmp_path / "dev.jsonl").write_text(PAIR)
    assert list(load_dataset("jsonl", tmp_path).splits) == ["dev"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "expected a JSON object, found '{'"),
        ("[" * 100_000, "expected a JSON object"),
        ('"text"', "expected a JSON object, found 'text'"),
        ('{"answer": "a", "label": 1}', "expected 'question': a text, found 'nothing'"),
        ('{"question": 3, "answer": "a", "label": 1}', "expected 'question': a text, found 3"),
        ('{"question": "q", "label": 1}', "expected 'answer': a text, found 'nothing'"),
        ('{"question": "q", "answer": "a"}', "expected a label that is a whole number"),
        ('{"question": "q", "answer": "a", "label": "1"}', "found '1'"),
        ('{"question": "q", "answer": "a", "label": 0.5}', "found 0.5"),
        ('{"question": "q", "answer": "a", "label": NaN}', "found nan"),
        ('{"question": "q", "answer": "", "label": 1}', "expected an answer, found ''"),
        ('{"question": "q", "candidates": []}', "expected at least one candidate"),
        ('{"question": "q", "candidates": {}}', "expected 'candidates': a list, found {}"),
        ('{"question": "q", "candidates": ["a"]}', "expected a candidate that is an object"),
        ('{"question": "q", "candidates": [{"label": 1}]}', "expected 'text': a text"),
        (
            '{"question": "q", "candidates": [{"id": "x", "text": "a", "label": 1},'
            ' {"id": "x", "text": "a", "label": 1}]}',
            "expected each candidate of",
        ),
        ('{"question": "q", "question_id": null, "answer": "a"}', "expected 'question_id': a text"),
    ],
)
def test_broken_lines_are_named(tmp_path, line, message):
    with pytest.raises(DataError, match=re.escape("train.jsonl, line 2: ")) as caught:
        pools_of(tmp_path, f"{PAIR}{line}\n")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "train.jsonl: expected at least one line"),
        (b"\n\n", "train.jsonl: expected at least one question"),
        (b'{"question": "\xff"}', "line 1: expected UTF-8 text"),
    ],
)
def test_broken_files_are_named(tmp_path, content, message):
    (tmp_path / "train.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=re.escape(message)):
        load_dataset("jsonl", tmp_path)


def test_empty_folder(tmp_path):
    with pytest.raises(AskonceError, match=r"no train\.jsonl\[\.gz\] or dev\.jsonl"):
        load_dataset("jsonl", tmp_path)
