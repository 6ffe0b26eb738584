"""WikiQA: the published counts, neutral order, and errors that say where."""

import gzip

import pytest

from askonce.data.benchmarks import load_dataset
from askonce.errors import AskonceError, DataError

COUNTS = {  # questions, pairs, positives, questions with a positive
    "train": (2_118, 20_360, 1_040, 873),
    "dev": (296, 2_733, 140, 126),
    "test": (633, 6_165, 293, 243),
}
HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\r\n"
ROW = "Q1\thow?\tD1\tA title\tD1-0\tLike this.\t1\r\n"
ROWS = HEADER + ROW + "Q1\thow?\tD1\tA title\tD1-1\tNot so.\t0\r\n"


def write(folder, train):
    """A folder whose dev and test files are fine and whose training file holds ``train``."""
    for split, text in (("train", train), ("dev", ROWS), ("test", ROWS)):
        content = text.encode() if isinstance(text, str) else text
        (folder / f"WikiQA-{split}.tsv").write_bytes(content)
    return folder


@pytest.mark.data
def test_counts_are_the_published_ones(published):
    dataset = published("wikiqa")
    counts = {
        name: (
            len(pools),
            sum(len(pool.candidates) for pool in pools),
            sum(len(pool.positives) for pool in pools),
            sum(any(pool.labels) for pool in pools),
        )
        for name, pools in dataset.splits.items()
    }
    assert counts == COUNTS
    assert (dataset.protocol, dataset.tokeniser) == ("drop_no_pos", "words")


@pytest.mark.data
def test_neither_order_nor_ids_tell_where_in_the_document_a_sentence_was(data_folder):
    dataset = load_dataset("wikiqa", data_folder / "wikiqa")
    places = [
        (location + 0.5) / len(pool.candidates)
        for pools in dataset.splits.values()
        for pool in pools
        for location, label in enumerate(pool.labels)
        if label
    ]
    assert sum(places) / len(places) == pytest.approx(0.5, abs=0.02)  # as published: 0.31
    for pool in dataset.splits["test"]:
        assert [post.id for post in pool.candidates] == sorted(post.id for post in pool.candidates)


def test_small_files(tmp_path):
    dataset = load_dataset("wikiqa", write(tmp_path, ROWS))
    (pool,) = dataset.splits["train"]
    assert (pool.query.id, pool.query.title) == ("Q1", "how?")
    (right,) = pool.positives
    assert right.id.endswith("-D1-0")
    assert (right.title, right.body, right.kind) == ("", "Like this.", "answer")
    # a sentence of several questions is one post
    assert dataset.splits["test"][0].candidates[0] is pool.candidates[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "an empty file"),
        (HEADER, "at least one question"),
        (ROW, "line 1: expected the columns QuestionID Question"),
        (ROWS + "Q2\thow?\t1\n", "line 4: expected 7 columns"),
        (ROWS + ROW, "line 4: expected each candidate of 'Q1' once"),
        (ROWS + ROW.replace("Q1", "Q2").replace("this", "that"), "line 4: expected one text for"),
        (
            ROWS + ROW.replace("D1-0", "D1-2").replace("\t1\r", "\tyes\r"),
            "line 4: expected a label",
        ),
        (ROWS.encode() + b"\xe9", "line 4: expected UTF-8"),
    ],
)
def test_bad_files(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        load_dataset("wikiqa", write(tmp_path, content))


def test_truncated_gzip(tmp_path):
    write(tmp_path, ROWS)
    (tmp_path / "WikiQA-test.tsv").unlink()
    (tmp_path / "WikiQA-test.tsv.gz").write_bytes(gzip.compress(ROWS.encode())[:-12])
    with pytest.raises(DataError, match=r"WikiQA-test\.tsv\.gz, line \d+: expected a whole gzip"):
        load_dataset("wikiqa", tmp_path)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(AskonceError, match=r"no WikiQA-train\.tsv\[\.gz\] in"):
        load_dataset("wikiqa", tmp_path)
