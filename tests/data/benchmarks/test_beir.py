import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.data.benchmarks import load_dataset
from askonce.data.benchmarks.beir import read, write_beir
from askonce.errors import AskonceError, DataError
from askonce.types import Dataset, Pool, Post

texts = st.text(max_size=8)
ids = st.text('ab1\t"\n é', min_size=1, max_size=2)  # few, so that ids meet across splits
posts = st.builds(
    Post,
    id=ids,
    title=texts,
    body=texts,
    kind=st.sampled_from(["question", "answer"]),
    parent=st.none() | ids,
    score=st.none() | st.integers(-5, 5),
    accepted=st.booleans(),
    tags=st.lists(texts, max_size=2).map(tuple),
    created=st.none() | st.just("2024-05-01T00:00:00"),
)


@st.composite
def pools(draw):
    candidates = draw(st.lists(posts, max_size=4).map(tuple))
    size = len(candidates)
    return Pool(
        draw(posts),
        candidates,
        tuple(draw(st.lists(st.integers(-1, 3), min_size=size, max_size=size))),
        draw(st.lists(posts, max_size=2).map(tuple)),
        draw(
            st.none()
            | st.lists(
                st.floats(allow_nan=False, allow_infinity=False), min_size=size, max_size=size
            ).map(tuple)
        ),
    )


datasets = st.builds(
    Dataset,
    name=texts,
    splits=st.dictionaries(
        st.sampled_from(["train", "dev", "test", "test-lemma"]),
        st.lists(pools(), max_size=3).map(tuple),
        max_size=3,
    ),
    dev=st.sampled_from(["dev", "test-lemma"]),
    protocol=st.sampled_from(["trec", "clean", "drop_no_pos"]),
    tokeniser=st.sampled_from(["words", "whitespace"]),
    corpus=st.lists(posts, max_size=3, unique_by=lambda post: post.id).map(tuple),
)


@given(datasets)
def test_what_is_written_is_read_back(dataset):
    with tempfile.TemporaryDirectory() as folder:
        write_beir(dataset, Path(folder))
        assert read(Path(folder)) == dataset


def plain(folder, **files):
    lines = {
        "corpus": '{"_id": "d1", "title": "T", "text": "one", "metadata": {"url": 3}}\n'
        '{"_id": "d2", "title": "", "text": "two"}\n',
        "queries": '{"_id": "q1", "text": "ask"}\n{"_id": 2, "title": "T", "text": "T\\nmore"}\n',
        "test": "query-id\tcorpus-id\tscore\nq1\td2\t2\n2\td1\t0\nq1\td1\t0\n",
        **files,
    }
    (folder / "qrels").mkdir(exist_ok=True)
    (folder / "corpus.jsonl").write_text(lines["corpus"])
    (folder / "queries.jsonl").write_text(lines["queries"])
    (folder / "qrels" / "test.tsv").write_text(lines["test"])


def test_plain_folder(tmp_path):
    plain(tmp_path)
    data = load_dataset("beir", tmp_path)
    first, second = data.split("test")
    assert list(data.splits) == ["test"]
    assert first.query == Post("q1", body="ask")
    assert second.query == Post("2", "T", "more")
    assert first.candidates == (
        Post("d2", body="two", kind="answer"),
        Post("d1", "T", "one", kind="answer"),
    )
    assert first.labels == (2, 0)
    assert [post.id for post in data.corpus] == ["d1", "d2"]


def test_others_can_read_what_we_write(tmp_path):
    query, right, wrong = Post("1", "Title", "body"), Post("2", body="x"), Post("3", body="y")
    pool = Pool(query, (wrong, right), (0, 1), missed=(query,))
    write_beir(Dataset("mine", {"dev": (pool,)}), tmp_path)
    assert (tmp_path / "qrels" / "dev.tsv").read_text().splitlines() == [
        "query-id\tcorpus-id\tscore",
        "1\t1\t1",
        "1\t3\t0",
        "1\t2\t1",
    ]
    (line,) = map(json.loads, (tmp_path / "queries.jsonl").read_text().splitlines())
    assert (line["_id"], line["text"]) == ("1", "Title\nbody")
    documents = [json.loads(line) for line in (tmp_path / "corpus.jsonl").read_text().splitlines()]
    assert [d["_id"] for d in documents] == ["3", "2", "1"]
    assert all({"_id", "title", "text"} <= d.keys() for d in documents)
    (tmp_path / "askonce.json").unlink()
    (pool,) = load_dataset("beir", tmp_path).split("dev")  # as a plain folder
    assert pool.labels == (1, 0, 1)


def test_the_split_with_a_role_gives_the_text_of_a_shared_id(tmp_path):
    raw, lemma = (Pool(Post("1", title), (Post("2"),), (1,)) for title in ("Raw", "lemma"))
    dataset = Dataset("b", {"old": (raw,), "test-lemma": (lemma,)}, test="test-lemma")
    write_beir(dataset, tmp_path)
    assert json.loads((tmp_path / "queries.jsonl").read_text())["text"] == "lemma"
    assert read(tmp_path) == dataset


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"test": "query-id\tcorpus-id\tscore\nq9\td1\t1\n"},
            "line 2: expected a query of queries",
        ),
        ({"test": "query-id\tcorpus-id\tscore\nq1\td9\t1\n"}, "line 2: expected a document of"),
        ({"test": "query-id\tcorpus-id\tscore\nq1\td1\tx\n"}, "line 2: expected a score that is"),
        ({"test": "query-id\tcorpus-id\tscore\nq1\td1\n"}, "line 2: expected 3 columns"),
        ({"test": "q1\td1\t1\n"}, "line 1: expected the header"),
        (
            {"test": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td1\t0\n"},
            "line 3: expected each candidate of 'q1' once",
        ),
        ({"test": ""}, "test.tsv: expected at least one line"),
        ({"corpus": '{"_id": "d1"}\n'}, "corpus.jsonl, line 1: expected 'text': a text"),
        ({"corpus": '{"_id": "d1", "text": "a"}\n' * 2}, "line 2: expected each id once"),
        ({"corpus": ""}, "corpus.jsonl: expected at least one line"),
        ({"queries": '{"text": "a"}\n'}, "queries.jsonl, line 1: expected '_id': a text"),
        ({"queries": "[1]\n"}, "queries.jsonl, line 1: expected a JSON object, found [1]"),
        ({"queries": '{"_id"\n'}, "queries.jsonl, line 1: expected a JSON object"),
    ],
)
def test_broken_plain_folder_names_the_line(tmp_path, files, message):
    plain(tmp_path, **files)
    with pytest.raises(DataError, match=re.escape(message)):
        load_dataset("beir", tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("askonce.json", '{"format": 2}', "askonce.json: expected format 1, found 2"),
        ("askonce.json", '{"format": 1, "nam": "x"}', "unknown setting 'nam'; did you mean 'name'"),
        (
            "pools/dev.jsonl",
            '{"query": "1", "candidates": ["2"], "missed": [], "labels": []}',
            "line 1: expected a pool",
        ),
        (
            "askonce.json",
            '{"format": 1, "name": "", "splits": ["../dev"], "train": "", "dev": "", "test": "",'
            ' "protocol": "trec", "tokeniser": "words", "corpus": 0}',
            "askonce.json: expected splits that are plain file names, found '../dev'",
        ),
        (
            "pools/dev.jsonl",
            '{"query": "1", "candidates": ["7"], "labels": [1]}',
            "line 1: expected the id of a post of this folder, found '7'",
        ),
        (
            "pools/dev.jsonl",
            '{"query": "1", "labels": []}',
            "line 1: expected 'candidates': a list",
        ),
        (
            "pools/dev.jsonl",
            '{"query": "1", "candidates": ["2"], "missed": [], "labels": ["1"]}',
            "line 1: expected labels that are whole numbers",
        ),
        (
            "corpus.jsonl",
            '{"_id": "2", "text": "", "metadata": {"score": "x"}}',
            "corpus.jsonl, line 1: expected 'score': int, found 'x'",
        ),
        (
            "corpus.jsonl",
            '{"_id": "2", "text": "", "metadata": {"kind": "x"}}',
            "corpus.jsonl, line 1: expected kind question, answer or link, found 'x'",
        ),
    ],
)
def test_broken_folder_of_ours_names_the_file_and_line(tmp_path, file, content, message):
    write_beir(Dataset("d", {"dev": (Pool(Post("1"), (Post("2"),), (1,)),)}), tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(DataError, match=re.escape(message)):
        load_dataset("beir", tmp_path)


def test_writer_refuses_unsafe_names_and_full_folders(tmp_path):
    with pytest.raises(AskonceError, match=r"split '\.\./x' is no file name"):
        write_beir(Dataset("d", {"../x": ()}), tmp_path)
    (tmp_path / "precious").write_text("")
    for location in (tmp_path, tmp_path / "precious"):
        with pytest.raises(AskonceError, match="is no empty folder; choose a new one"):
            write_beir(Dataset("d", {}), location)
    with pytest.raises(AskonceError, match="two posts of one id"):
        write_beir(Dataset("d", {}, corpus=(Post("1"), Post("1"))), tmp_path / "new")


def test_folder_without_judgements(tmp_path):
    plain(tmp_path)
    (tmp_path / "qrels" / "test.tsv").unlink()
    with pytest.raises(AskonceError, match=r"no qrels/\*\.tsv in"):
        load_dataset("beir", tmp_path)
