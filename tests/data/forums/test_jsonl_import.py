import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.archive import Archive, load
from askonce.data.forums import IMPORTERS, Source
from askonce.errors import AskonceError, DataError
from askonce.files import LONGEST_RECORD
from askonce.types import Link, Post

QUESTION = {"id": "q", "kind": "question", "title": "t"}


def write(path, *records):
    lines = (x if isinstance(x, bytes) else json.dumps(x).encode() for x in records)
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def test_posts_and_links_are_read(imported, tmp_path):
    full = {"id": "a", "kind": "answer", "parent": "q", "body": "so", "html": "<p>so</p>"}
    full |= {"score": -3, "accepted": True, "tags": ["x", "y"], "created": "2021-01-17T22:04:21Z"}
    path = write(
        tmp_path / "a.jsonl",
        b"\xef\xbb\xbf" + json.dumps(full).encode(),
        QUESTION,
        b"",
        {"id": 7, "kind": "question", "html": "<p>one <b>two</b></p>", "score": None},
        {"kind": "link", "source": 7, "target": "q"},
        {"kind": "link", "source": "q", "target": 7, "link": "related"},
    )
    archive, summary = imported("jsonl", path)
    assert (summary.added, summary.damaged, summary.links) == (3, 0, 2)
    assert archive.post("a") == Post(
        "a", "", "so", "answer", "q", -3, True, ("x", "y"), "2021-01-17T22:04:21Z", "<p>so</p>"
    )
    assert archive.post("7") == Post("7", body="one two", html="<p>one <b>two</b></p>")
    assert archive.links() == [Link("7", "q"), Link("q", "7", "related")]
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert list(imported("jsonl", packed)[0].iterate()) == list(archive.iterate())


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (QUESTION, "post 'q': expected a new id"),
        ({"kind": "question", "title": "t"}, "line 2: expected 'id': a text, found 'nothing'"),
        ({"id": "x", "kind": "poll"}, "line 2: expected kind question, answer or link"),
        ({"id": "x", "kind": ["a"]}, "line 2: expected kind question, answer or link"),
        ({"id": True, "kind": "question"}, "'id': a text, found True"),
        ({"id": "x", "kind": "question"}, "post 'x': no text"),
        ({"id": "x", "kind": "question", "title": 4}, "'title': a text, found 4"),
        ({"id": "x", "kind": "question", "title": "t", "score": 0.5}, "'score': int, found 0.5"),
        ({"id": "x", "kind": "question", "title": "t", "score": 10**30}, "a score of 31 digits"),
        ({"id": "x", "kind": "question", "title": "t", "accepted": 1}, "'accepted': bool"),
        ({"id": "x", "kind": "question", "title": "t", "tags": "a"}, "'tags': a list of texts"),
        ({"id": "x", "kind": "question", "title": "t", "created": "soon"}, "ISO 8601"),
        ({"id": "a", "kind": "answer", "title": "t"}, "post 'a': an answer needs 'parent'"),
        ({"id": "a", "kind": "answer", "title": "t", "parent": "no"}, "its question 'no'"),
        ({"kind": "link", "source": "q"}, "line 2: expected a link with 'target'"),
        ({"kind": "link", "source": "q", "target": "q", "link": "twin"}, "found 'twin'"),
        ([1], "line 2: expected a JSON object, found [1]"),
        (b"{", "line 2: expected a JSON object, found '{'"),
        (b"\xff", "line 2: expected UTF-8 text"),
        (b"[" * 100_000, "line 2: expected a JSON object"),
        (b'{"id": ' + b"1" * 5000 + b"}", "line 2: expected a JSON object"),
    ],
)
def test_a_bad_line_is_named_and_the_rest_is_read(imported, tmp_path, record, message):
    path = write(tmp_path / "a.jsonl", QUESTION, record, {**QUESTION, "id": "last"})
    archive, summary = imported("jsonl", path)
    assert [post.id for post in archive.iterate()] == ["q", "last"]
    assert summary.damaged == 1
    assert message in summary.examples[0]
    with pytest.raises(AskonceError) as error:
        imported("jsonl", path, strict=True)
    assert str(error.value) == summary.examples[0]


def test_a_line_may_be_of_any_length(imported, tmp_path):
    long = {**QUESTION, "id": "long", "body": "x" * (LONGEST_RECORD + 99)}
    fits = {**QUESTION, "id": "fits", "body": "ж" * 1_000_000, "html": "ж" * 1_000_000}
    path = write(tmp_path / "a.jsonl", long, fits, {**QUESTION, "id": "ten", "body": "x" * 10**7})
    archive, summary = imported("jsonl", path)
    assert [post.id for post in archive.iterate()] == ["fits"]
    assert "line 1: expected lines of at most" in summary.examples[0]
    assert "post 'ten': body of 10,000,000 characters" in summary.examples[1]


def test_control_characters_go_and_all_other_text_stays(imported, tmp_path):
    text = "a\0b\x1bc\ud800d\te\r\nf\u200b\u00adg é 🚲"
    path = write(tmp_path / "a.jsonl", {**QUESTION, "title": text, "body": text})
    post = imported("jsonl", path)[0].post("q")
    assert post.title == post.body == "abcd\te\r\nf\u200b\u00adg é 🚲"


def test_an_empty_file_and_a_folder_are_reported(tmp_path):
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(DataError, match="at least one line, found 'an empty file'"):
        list(IMPORTERS["jsonl"](Source(tmp_path / "a.jsonl")))
    with pytest.raises(AskonceError, match="is a folder; expected a JSONL file"):
        list(IMPORTERS["jsonl"](Source(tmp_path)))


@pytest.mark.parametrize("end", [b"", b"?" * 50_000])
def test_a_broken_gzip_file_counts_up_to_the_break(imported, tmp_path, end):
    records = [{**QUESTION, "id": f"q{n}", "body": str(hash(n) * 7919**9)} for n in range(3000)]
    whole = gzip.compress(b"\n".join(json.dumps(r).encode() for r in records))
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2] + end)
    _, summary = imported("jsonl", path)
    assert summary.added > 1000
    if not end:  # what is no gzip may look like it for a while
        assert summary.damaged == 2  # the break, and the line that it cuts
        assert "a whole gzip file" in summary.examples[-1]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
names = "id kind title body html parent score accepted tags created source target link"
fields = st.sampled_from(names.split())
likely = st.sampled_from(["question", "answer", "link", "q", "a", "duplicate", "2020-01-01"])
lines = st.binary(max_size=40) | st.dictionaries(fields, likely | values, max_size=8).map(
    lambda record: json.dumps(record).encode()
)


@given(st.lists(lines, max_size=6))
def test_no_input_crashes(written):
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.write_bytes(b"\n".join([json.dumps(QUESTION).encode(), *written]))
        archive = Archive.in_memory()
        load(archive, IMPORTERS["jsonl"](Source(path)))
        for post in archive.iterate(html=True):
            assert post.text.strip()
        archive.close()
