import csv
import gzip
import io
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.data.benchmarks import load_dataset
from askonce.errors import AskonceError, DataError

TABLE = '''question,answer,label
how?,"like this, or
like ""that""",1
why?,because,0
how?,no idea,0
'''


def pools_of(folder, content, name="train.csv"):
    (folder / name).write_text(content)
    return load_dataset("csv", folder).split("train")


def judged(pool):
    pairs = zip(pool.candidates, pool.labels, strict=True)
    return {post.text: label for post, label in pairs}


def test_rows_of_a_question_make_a_pool(tmp_path):
    how, why = pools_of(tmp_path, TABLE)
    assert how.query.text == "how?"
    assert judged(how) == {'like this, or\nlike "that"': 1, "no idea": 0}
    assert judged(why) == {"because": 0}
    assert {post.kind for post in how.candidates} == {"answer"}
    assert how.query.id != why.query.id


def test_tabs_synonyms_ids_and_other_columns(tmp_path):
    header = "Query_ID\tquery\tdate\tcandidate_id\ttext\tLABEL\n"
    (first, second) = pools_of(
        tmp_path, header + "7\ta, b\tx\tc1\tyes\t2\n8\ta, b\tx\tc1\tyes\t1.0\n", "train.tsv"
    )
    assert (first.query.id, second.query.id) == ("7", "8")
    assert first.candidates[0] is second.candidates[0]
    assert (first.labels, second.labels) == ((2,), (1,))


def test_only_the_splits_that_exist(tmp_path):
    (tmp_path / "test.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    assert list(load_dataset("csv", tmp_path).splits) == ["test"]
    (tmp_path / "dev.csv").write_text(TABLE)
    assert list(load_dataset("csv", tmp_path).splits) == ["dev", "test"]


def test_neither_ids_nor_order_betray_the_first_row(tmp_path):
    rows = "".join(f"q{n},right {n},1\nq{n},wrong {n},0\n" for n in range(400))
    pools = pools_of(tmp_path, "question,answer,label\n" + rows)
    assert 150 < sum(pool.labels[0] for pool in pools) < 250
    assert all(list(p.candidates) == sorted(p.candidates, key=lambda c: c.id) for p in pools)


def test_an_answer_given_twice_counts_once(tmp_path):
    header = "question,answer,label\n"
    (pool,) = pools_of(tmp_path, header + "q,thanks,0\nq,thanks,0\n")
    assert pool.labels == (0,)
    with pytest.raises(DataError, match="line 3: expected each candidate"):
        pools_of(tmp_path, header + "q,thanks,0\nq,thanks,1\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("question,answer,label\nq,a,good\n", "line 2: expected a label that is a whole number"),
        ("question,answer,label\nq,a,good\n", "found 'good'"),
        ("question,answer,label\nq,a,0.5\n", "line 2: expected a label"),
        ("question,answer,label\nq,a,nan\n", "line 2: expected a label"),
        ("question,answer,label\nq,a,\n", "line 2: expected a label"),
        ("question,answer,label\nq,a,1\nq,b\n", "line 3: expected 3 columns, found"),
        ('question,answer,label\nq,"a\nb",1\nq,b\n', "line 4: expected 3 columns"),
        ('question,answer,label\nq,"a"b,1\n', "line 2: expected a well-formed row"),
        ('question,answer,label\nq,a,1\nq,"b,1\n', "line 3: expected a well-formed row"),
        ("question,answer,label\n ,a,1\n", "line 2: expected a question, found ' '"),
        ("question,answer,label\nq,,1\n", "line 2: expected an answer, found ''"),
        ("question,reply,label\nq,a,1\n", "line 1: expected a column answer or candidate or text"),
        ("question,answer,label\n", "train.csv: expected at least one question"),
        ("", "train.csv: expected at least one line"),
        ("\n\n", "line 1: expected a column question"),
        (
            "question,answer,label,question_id\nq,a,1,7\np,b,1,7\n",
            "line 3: expected one text for the question '7'",
        ),
        (
            "question,answer,label,answer_id\nq,a,1,7\nq,a,1,7\n",
            "line 3: expected each candidate of",
        ),
        (
            "question,answer,label,answer_id\nq,a,1,7\np,b,1,7\n",
            "line 3: expected one text for the candidate '7'",
        ),
    ],
)
def test_broken_tables_name_the_line(tmp_path, content, message):
    with pytest.raises(DataError, match=re.escape(message)):
        pools_of(tmp_path, content)


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "dev.csv").write_bytes(b"question,answer,label\nq,\xff\xfe,1\n")
    with pytest.raises(DataError, match="line 2: expected UTF-8 text"):
        load_dataset("csv", tmp_path)
    (tmp_path / "dev.csv").unlink()
    (tmp_path / "dev.csv.gz").write_bytes(gzip.compress(TABLE.encode())[:-9])
    with pytest.raises(DataError, match="expected a whole gzip file"):
        load_dataset("csv", tmp_path)


def test_empty_folder(tmp_path):
    with pytest.raises(AskonceError, match=r"no train\.csv"):
        load_dataset("csv", tmp_path)


characters = st.characters(codec="utf-8", exclude_characters="\r\0")
words = st.text(characters, min_size=1).filter(str.strip)


@given(st.dictionaries(st.tuples(words, words), st.integers(-3, 3), min_size=1, max_size=6))
def test_any_text_survives_quoting(table):
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(("question", "answer", "label"))
    writer.writerows((question, answer, label) for (question, answer), label in table.items())
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.csv").write_bytes(stream.getvalue().encode())
        pools = load_dataset("csv", folder).split("train")
    actual = {
        (pool.query.title, post.body): label
        for pool in pools
        for post, label in zip(pool.candidates, pool.labels, strict=True)
    }
    assert actual == table
