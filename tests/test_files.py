import gzip

import pytest

from askonce.errors import AskonceError, DataError
from askonce.files import descend, find, need, numbered_lines, rows


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(AskonceError, match=r"no folder '.*nowhere'"):
        descend(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(AskonceError, match="is a file"):
        descend(tmp_path / "file")


def test_descends_into_a_known_folder_only(tmp_path):
    (tmp_path / "wikiqa").mkdir()
    assert descend(tmp_path, "trecqa", "wikiqa") == tmp_path / "wikiqa"
    assert descend(tmp_path / "wikiqa", "wikiqa") == tmp_path / "wikiqa"


def test_plain_and_gzipped_are_found(tmp_path):
    with gzip.open(tmp_path / "a.tsv.gz", "wt") as stream:
        stream.write("1\tx\n2\ty\n")
    assert find(tmp_path, "b.tsv") is None
    assert list(rows(need(tmp_path, "a.tsv"), 2)) == [(1, ["1", "x"]), (2, ["2", "y"])]
    with pytest.raises(AskonceError, match=r"no b\.tsv\[\.gz\]"):
        need(tmp_path, "b.tsv")


def test_truncated_gzip(tmp_path):
    path = tmp_path / "a.gz"
    whole = gzip.compress("\n".join(map(str, range(10_000))).encode())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"a\.gz, line \d+: expected a whole gzip file"):
        list(numbered_lines(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected at least one line, found 'an empty file'"),
        (b"one\ttwo\nthree\n", "line 2: expected 2 columns, found \"1 in 'three'\""),
        (b"a\tb\n\xff\tc\n", "line 2: expected UTF-8 text"),
    ],
)
def test_broken_tables(tmp_path, content, message):
    path = tmp_path / "a.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(rows(path, 2))


def test_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfhello\r\n")
    assert list(numbered_lines(path)) == [(1, "hello")]
