import gzip
import re

import pytest

from askonce.data.benchmarks import load_dataset
from askonce.errors import AskonceError, DataError
from askonce.types import Post

JUDGED = "1\t3\t2 3\t9.5 8\n"


def write(folder, **files):
    for name, text in {"dev": JUDGED, "test": JUDGED, **files}.items():
        (folder / f"{name}.txt").write_text(text)


@pytest.mark.data
def test_real_judgements(published):
    data = published("askubuntu")
    assert sorted(data.splits) == ["dev", "test"]
    for split, with_positive, positives in (("dev", 189, 1177), ("test", 186, 1078)):
        pools = data.split(split)
        assert len(pools) == 200
        assert {len(pool.candidates) for pool in pools} == {20}
        assert sum(any(pool.labels) for pool in pools) == with_positive
        assert sum(sum(pool.labels) for pool in pools) == positives
    first = data.split("dev")[1]
    assert (first.query.id, first.candidates[0].id) == ("457914", "154242")
    assert first.given is not None
    assert first.given[:2] == (15.479288, 15.301497)
    assert first.labels[:5] == (0, 1, 1, 1, 1)
    assert (data.protocol, data.tokeniser) == ("drop_no_pos", "whitespace")


@pytest.mark.data
def test_given_scores_rank_as_published(published):
    data = published("askubuntu")
    for split, expected in (("dev", 0.520), ("test", 0.560)):  # the paper's BM25 MAP
        precisions = []
        for pool in data.split(split):
            order = sorted(range(20), key=lambda n, given=pool.given: -given[n])
            hits = [rank for rank, n in enumerate(order, start=1) if pool.labels[n]]
            precisions += [sum(n / r for n, r in enumerate(hits, 1)) / len(hits)] if hits else []
        assert sum(precisions) / len(precisions) == pytest.approx(expected, abs=5e-4)


def test_without_text_posts_have_ids_only(tmp_path):
    write(tmp_path)
    data = load_dataset("askubuntu", tmp_path)
    (pool,) = data.split("dev")
    assert pool.query == Post("1")
    assert pool.candidates == (Post("2"), Post("3"))
    assert (pool.labels, pool.given) == ((0, 1), (9.5, 8.0))
    assert data.corpus == ()


def test_with_text_and_training_file(tmp_path):
    write(tmp_path, train_random="1\t2 9\t3 2 1 3\n9\t1\t2\n")
    text = "1\thow to ?\tupdate now .\n2\ttitle\t\n3\tother\tbody\n"
    (tmp_path / "text_tokenized.txt.gz").write_bytes(gzip.compress(text.encode()))
    data = load_dataset("askubuntu", tmp_path)
    (pool,) = data.split("train")  # 9 has no text: neither a query nor a candidate
    assert pool.query == Post("1", "how to ?", "update now .")
    assert [post.id for post in pool.candidates] == ["2", "3"]
    assert pool.labels == (1, 0)
    assert len(data.corpus) == 3
    assert data.split("dev")[0].candidates[1] is data.corpus[2]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"dev": "1\t4\t2 3\t9 8\n"}, "dev.txt, line 1: expected similar questions among the"),
        ({"dev": "1\t2\t2 2\t9 8\n"}, "dev.txt, line 1: expected each candidate once"),
        (
            {"dev": "1\t2\t2 3\t9\n"},
            "dev.txt, line 1: expected 2 scores, one per candidate, found 1",
        ),
        ({"test": "1\t2\t2 3\t9 x\n"}, "test.txt, line 1: expected scores that are numbers"),
        ({"test": JUDGED + "5\t6\n"}, "test.txt, line 2: expected 4 columns, found"),
        ({"test": JUDGED * 2}, "test.txt, line 2: expected each query once, found \"'1' again\""),
        ({"dev": ""}, "dev.txt: expected at least one line"),
        ({"text_tokenized": "1\ta\tb\n"}, "dev.txt, line 1: expected a question of text_tok"),
        ({"text_tokenized": "1\ta\tb\n" * 2}, "text_tokenized.txt, line 2: expected each question"),
        ({"text_tokenized": "1\ta\n"}, "text_tokenized.txt, line 1: expected 3 columns"),
    ],
)
def test_broken_files_name_the_line(tmp_path, files, message):
    write(tmp_path, **files)
    with pytest.raises(DataError, match=re.escape(message)):
        load_dataset("askubuntu", tmp_path)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(AskonceError, match=r"no dev\.txt\[\.gz\] in"):
        load_dataset("askubuntu", tmp_path)
