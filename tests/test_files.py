import gzip
import os
import subprocess
import sys

import pytest

from askonce.errors import AskonceError, DataError
from askonce.files import (
    Lock,
    descend,
    find,
    locked,
    need,
    numbered_lines,
    replacing,
    rows,
    write_atomic,
)


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


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "state.json"
    write_atomic(path, "first")
    write_atomic(path, b"second")
    with pytest.raises(ZeroDivisionError), replacing(path) as part:
        part.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "second"
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


HOLD = """
import sys, pathlib
from askonce.files import Lock
lock = Lock(pathlib.Path(sys.argv[1]))
print(lock.acquire(), flush=True)
sys.stdin.read()
"""


def test_a_lock_names_its_holder_and_is_freed_when_that_process_is_killed(tmp_path):
    path = tmp_path / "new" / "lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"True\n"
        lock = Lock(path)
        assert not lock.acquire()
        assert f"the indexes belong to process {holder.pid}" in str(lock.refusal("the indexes"))
        with pytest.raises(AskonceError, match=f"busy.*process {holder.pid}"), locked(path, "busy"):
            pass
        holder.kill()
    assert lock.acquire()
    assert lock.holder() == f"process {os.getpid()}"
    lock.release()
    with locked(path, "busy"):
        assert not Lock(path).acquire()


def test_a_folder_that_cannot_be_written_cannot_be_locked(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    path = tmp_path / "file" / "lock"
    assert not Lock(path).acquire()
    with pytest.raises(AskonceError, match="cannot write to"), locked(path, "busy"):
        pass
