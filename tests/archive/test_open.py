import gzip
import json

import pytest

from askonce.archive import Archive, open_archive
from askonce.errors import AskonceError
from askonce.types import Post

QUESTION = {"id": "q", "kind": "question", "title": "t"}


def write(path, *records):
    path.write_text("\n".join(json.dumps(record) for record in records))
    return path


def test_the_built_in_archive():
    archive = open_archive("bicycles")
    counts = archive.counts()
    assert archive.name == "bicycles"
    assert (counts["questions"], counts["answers"]) == (216, 493)
    assert (counts["duplicates"], counts["related"]) == (59, 54)
    first = archive.post("q001")
    assert first.title == "What can I use to clean disc brake rotors?"
    assert (first.tags, first.score) == (("cleaning", "brakes"), 6)
    assert archive.folder is None


def test_a_folder_and_a_file(tmp_path):
    archive = Archive.open(tmp_path / "x.askonce", create=True)
    archive.write([Post("q", "t")])
    assert open_archive(str(tmp_path / "x.askonce")).post("q") == Post("q", "t")
    path = write(tmp_path / "a.jsonl", QUESTION)
    assert open_archive(path).name == "a"
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert open_archive(packed).name == "b"
    assert open_archive(packed).post("q") == Post("q", "t")


def test_an_unknown_archive_is_named(tmp_path):
    with pytest.raises(AskonceError, match="no archive 'nowhere'; name a folder"):
        open_archive("nowhere")
    with pytest.raises(AskonceError, match="no archive at"):
        open_archive(tmp_path)


def test_an_address_needs_its_driver_or_server():
    with pytest.raises(AskonceError, match=r"PostgreSQL|archive"):
        open_archive("postgresql://nobody@127.0.0.1:1/none")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([QUESTION, QUESTION], "post 'q': expected a new id"),
        ([{"kind": "question"}], "line 1: expected 'id'"),
        ([{"id": "q", "kind": "poll"}], "line 1: expected kind question, answer or link"),
        ([{"id": [7], "kind": "question"}], r"line 1: expected 'id': a text, found \[7\]"),
        ([[1]], "line 1: expected a JSON object"),
        (
            [{**QUESTION, "id": "a", "kind": "answer", "parent": "x"}],
            "its question 'x', found none",
        ),
        ([QUESTION, {"kind": "link", "source": "q"}], "a link with 'target'"),
        ([QUESTION, {"kind": "link", "source": "q", "target": "x"}], "links between known"),
        ([QUESTION, {"kind": "link", "source": "q", "target": "q", "link": "twin"}], "'twin'"),
    ],
)
def test_anything_wrong_with_a_file_is_an_error(tmp_path, records, message):
    path = write(tmp_path / "a.jsonl", *records)
    with pytest.raises(AskonceError, match=message):
        open_archive(path)


def test_a_circle_of_duplicates_in_a_file_is_an_error(tmp_path):
    link = {"kind": "link"}
    path = write(
        tmp_path / "a.jsonl",
        {"id": "p", "kind": "question", "title": "one"},
        {"id": "q", "kind": "question", "title": "two"},
        link | {"source": "p", "target": "q"},
        link | {"source": "q", "target": "p"},
    )
    with pytest.raises(AskonceError, match="1 links make a question a duplicate of itself"):
        open_archive(path)
