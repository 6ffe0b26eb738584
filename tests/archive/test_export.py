import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.archive import Archive, load, open_archive
from askonce.archive.export import export
from askonce.data.benchmarks import load_dataset
from askonce.data.forums import IMPORTERS, Source
from askonce.errors import AskonceError
from askonce.types import Link, Post


def assert_equal(one, other):
    assert sorted(one.iterate(html=True), key=str) == sorted(other.iterate(html=True), key=str)
    assert one.links() == other.links()


def back(form, path):
    archive = Archive.in_memory()
    summary = load(archive, IMPORTERS[form](Source(path)))
    assert (summary.damaged, summary.unknown_links) == (0, 0)
    return archive


@pytest.mark.parametrize(
    ("form", "name"), [("jsonl", "a.jsonl"), ("jsonl", "a.jsonl.gz"), ("beir", "folder")]
)
def test_what_is_exported_imports_as_it_was(tmp_path, form, name):
    archive = open_archive("bicycles")
    archive.write([Post("x", "t", "b\n é\t🚲", html="<p>b</p>", tags=("ö",), score=0)])
    archive.write(
        [Post("y", "t", url="https://x.example/y", author="Ada", author_url="http://a.b")]
    )
    export(archive, tmp_path / name, form)
    assert_equal(archive, back(form, tmp_path / name))
    if form == "jsonl":
        assert list(back(form, tmp_path / name).iterate()) == list(archive.iterate())
    with pytest.raises(AskonceError, match="exists; name a new path"):
        export(archive, tmp_path / name, form)


def test_lines_hold_only_what_is_known(tmp_path):
    archive = Archive.in_memory()
    archive.write([Post("q", "t"), Post("p", "u", score=3)], [Link("q", "p")])
    export(archive, tmp_path / "a.jsonl")
    assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()] == [
        {"id": "q", "kind": "question", "title": "t"},
        {"id": "p", "kind": "question", "title": "u", "score": 3},
        {"kind": "link", "source": "q", "target": "p", "link": "duplicate"},
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_beir_folder_is_what_tools_expect(tmp_path):
    export(open_archive("bicycles"), tmp_path / "beir", "beir")
    dataset = load_dataset("beir", tmp_path / "beir")
    assert set(dataset.splits) == {"answer", "duplicate", "related"}
    assert len(dataset.posts) == 216 + 493
    assert sum(len(pool.candidates) for pool in dataset.splits["duplicate"]) == 59
    assert sum(len(pool.candidates) for pool in dataset.splits["answer"]) == 493


def test_a_path_that_cannot_be_written_is_reported(tmp_path):
    with pytest.raises(AskonceError, match="cannot write"):
        export(Archive.in_memory(), tmp_path / "no" / "a.jsonl")


texts = st.text(max_size=30)
posts = st.builds(
    Post,
    id=st.text(min_size=1, max_size=5),
    title=texts,
    body=texts,
    html=texts,
    score=st.none() | st.integers(-(2**31) + 1, 2**31 - 1),
    tags=st.lists(texts, max_size=3).map(tuple),
    created=st.none() | st.datetimes().map(lambda d: d.isoformat()),
)


@given(st.lists(posts, max_size=5, unique_by=lambda post: post.id))
def test_any_post_survives_both_ways(tmp_path_factory, written):
    archive = Archive.in_memory()
    load(archive, [Post("there is one", "t"), *written])
    folder = tmp_path_factory.mktemp("any")
    export(archive, folder / "a.jsonl.gz")
    export(archive, folder / "beir", "beir")
    for form, path in (("jsonl", "a.jsonl.gz"), ("beir", "beir")):
        assert_equal(archive, back(form, folder / path))
    assert gzip.decompress((folder / "a.jsonl.gz").read_bytes()).endswith(b"\n")
