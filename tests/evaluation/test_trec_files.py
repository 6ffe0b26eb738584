import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askonce.errors import AskonceError, DataError
from askonce.evaluation import evaluate, read_qrels, read_run, write_qrels, write_run

words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6).filter(
    lambda text: not text.startswith("\ufeff")
)
scores = st.floats(allow_nan=False, allow_infinity=False, width=32).map(float) | st.floats(-1, 1)
runs = st.dictionaries(words, st.dictionaries(words, scores, min_size=1), min_size=1)
labels = st.dictionaries(words, st.dictionaries(words, st.integers(-2, 9), min_size=1), min_size=1)
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@same_folder
@given(run=runs, suffix=st.sampled_from([".run", ".run.gz"]))
def test_a_run_comes_back_as_it_was(tmp_path, run, suffix):
    path = tmp_path / f"out{suffix}"
    write_run(path, run)
    assert read_run(path) == run
    assert [p.name for p in tmp_path.iterdir() if "part" in p.name] == []


@same_folder
@given(qrels=labels, suffix=st.sampled_from([".qrels", ".qrels.gz"]))
def test_qrels_come_back_as_they_were(tmp_path, qrels, suffix):
    path = tmp_path / f"out{suffix}"
    write_qrels(path, qrels)
    assert read_qrels(path) == qrels


@settings(same_folder, max_examples=25)
@given(run=runs)
def test_the_ranks_are_those_of_trec_eval(tmp_path, run):
    """Only the document at a rank is relevant: its reciprocal rank must be that rank's."""
    write_run(tmp_path / "out", run)
    for line in (tmp_path / "out").read_text("utf-8").split("\n")[:-1]:
        query, _, document, rank, _, _ = line.split()
        report = evaluate({query: {document: 1}}, run)
        assert report.metrics["MRR"] == pytest.approx(1 / int(rank), rel=1e-12)


def test_the_layout_is_that_of_trec(tmp_path):
    write_run(tmp_path / "run", {"q1": {"d1": 0.1, "d2": 2, "d3": 0.1}}, tag="mine")
    assert (tmp_path / "run").read_text() == (
        "q1 Q0 d2 1 2.0 mine\nq1 Q0 d3 2 0.1 mine\nq1 Q0 d1 3 0.1 mine\n"
    )
    write_qrels(tmp_path / "qrels", {"q1": {"d1": 1, "d2": 0}})
    assert (tmp_path / "qrels").read_text() == "q1 0 d1 1\nq1 0 d2 0\n"


def test_any_white_space_separates_and_the_rank_is_not_read(tmp_path):
    path = tmp_path / "run.gz"
    path.write_bytes(gzip.compress("\ufeffq1\tQ0  d1 x 1e-3 tag\r\nq1 Q0 d2 y 5 tag".encode()))
    assert read_run(path) == {"q1": {"d1": 0.001, "d2": 5.0}}


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "an empty file"),
        ("q Q0 d 1 2.0\n", 1, "expected 6 columns, found .5 in"),
        ("q Q0 d 1 2.0 t\n\n", 2, "expected 6 columns, found .0 in"),
        ("q Q0 d 1 high t\n", 1, "a number as score, found 'high'"),
        ("q Q0 d 1 nan t\n", 1, "a finite single-precision score, found 'nan'"),
        ("q Q0 d 1 -inf t\n", 1, "a finite single-precision score"),
        ("q Q0 d 1 1e39 t\n", 1, "a finite single-precision score"),
        ("q Q0 d 1 1 t\nr Q0 d 1 1 t\nq Q0 d 2 0 t\n", 3, "each document once per query"),
    ],
)
def test_a_broken_run_names_its_line(tmp_path, content, line, message):
    path = tmp_path / "run"
    path.write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        read_run(path)
    assert (caught.value.path, caught.value.line) == (path, line)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "an empty file"),
        ("query-id corpus-id score\n", 1, "expected 4 columns, found .3 in"),
        ("q 0 d 1\nq 0 e 1.0\n", 2, "a whole number as label, found '1.0'"),
        ("q 0 d 1\nq 0 d 1\n", 2, "each document once per query"),
    ],
)
def test_broken_qrels_name_their_line(tmp_path, content, line, message):
    path = tmp_path / "qrels"
    path.write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        read_qrels(path)
    assert (caught.value.path, caught.value.line) == (path, line)


def test_a_path_without_a_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no file at this path"):
        read_run(tmp_path / "absent")
    with pytest.raises(DataError, match="no file at this path"):
        read_qrels(tmp_path)


@pytest.mark.parametrize("word", ["two words", "", "tab\t", "no\u00a0break", "\ufeffmark"])
def test_ids_that_a_file_cannot_hold_are_refused(tmp_path, word):
    for run in ({word: {"d": 1.0}}, {"q": {word: 1.0}}):
        with pytest.raises(AskonceError, match="is not one word"):
            write_run(tmp_path / "run", run)
    with pytest.raises(AskonceError, match="is not one word"):
        write_qrels(tmp_path / "qrels", {"q": {word: 1}})
    with pytest.raises(AskonceError, match="is not one word"):
        write_run(tmp_path / "run", {"q": {"d": 1.0}}, tag=word)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "run"
    write_run(path, {"q": {"d": 1.0}})
    before = path.read_bytes()
    for wrong in ({}, {"q": {}}, {"q": {"d": float("nan")}}, {"q": {"d": 1.0, "a b": 2.0}}):
        with pytest.raises(AskonceError):
            write_run(path, wrong)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(AskonceError, match="cannot write"):
        write_run(tmp_path / "absent" / "run", {"q": {"d": 1.0}})
    (tmp_path / "folder").mkdir()
    with pytest.raises(AskonceError, match="cannot write"):
        write_run(tmp_path / "folder", {"q": {"d": 1.0}})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "run"]
