"""YahooQA: a pickle is read as data, whatever Python wrote it, and never run."""

import gzip
import os
import pickle

import pytest

from askonce.data.benchmarks import load_dataset
from askonce.errors import AskonceError, DataError

SPLIT = {
    "how long?": [["an hour", 1], ["a mile", 0], ["no", 0]],
    "who?": [["me", 1], ["a café", 0]],
}
DATA = {"train": SPLIT, "dev": SPLIT, "test": SPLIT}
# what Python 2 writes for {'train': {'q': [['a\xc3\xa9', 1]]}, ...}: byte strings, protocol 0
PYTHON2 = "(dp0\n{}."
PYTHON2_SPLIT = "S'{name}'\n(dS'q'\n(lp1\n(lS'{answer}'\naI1\naass"


class Evil:
    """Asks the reader of the pickle to call a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def write(folder, data, name="env.pkl"):
    folder.mkdir(exist_ok=True, parents=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else pickle.dumps(data))
    return folder


def python2(answer):
    splits = (PYTHON2_SPLIT.format(name=name, answer=answer) for name in DATA)
    return PYTHON2.format("".join(splits)).encode()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol(tmp_path, protocol):
    write(tmp_path / "yahooqa", pickle.dumps(DATA, protocol))
    dataset = load_dataset("yahooqa", tmp_path)
    first, second = dataset.splits["dev"]
    assert (first.query.id, first.query.title) == ("dev-0", "how long?")
    assert {p.body: label for p, label in zip(first.candidates, first.labels, strict=True)} == {
        "an hour": 1,
        "a mile": 0,
        "no": 0,
    }
    assert [post.body for post in second.negatives] == ["a café"]
    assert len(dataset.posts) == 15


@pytest.mark.parametrize(
    ("answer", "text"), [(r"caf\xc3\xa9", "café"), (r"caf\xe9", "café")], ids=["utf-8", "latin1"]
)
def test_python_2_pickles(tmp_path, answer, text):
    dataset = load_dataset("yahooqa", write(tmp_path, python2(answer)))
    assert dataset.splits["test"][0].candidates[0].body == text


@pytest.mark.parametrize("name", ["env.pkl.gz", "splits.pkl.gz"])
def test_other_places_and_forms(tmp_path, name):
    words = {("who", "?"): [(("it", "is", "me"), 0)]}
    data = {"train": SPLIT, "valid": SPLIT, "test": words}
    dataset = load_dataset("yahooqa", write(tmp_path, gzip.compress(pickle.dumps(data)), name))
    (pool,) = dataset.splits["test"]
    assert (pool.query.title, pool.candidates[0].body, pool.labels) == ("who ?", "it is me", (0,))
    assert len(dataset.splits["dev"]) == 2


def test_right_answers_come_first_in_the_file_but_not_in_the_pools(tmp_path):
    split = {f"q{n}": [["a", 1], ["b", 0], ["c", 0], ["d", 0]] for n in range(400)}
    dataset = load_dataset("yahooqa", write(tmp_path, DATA | {"train": split}))
    places = [pool.labels.index(1) for pool in dataset.splits["train"]]
    assert all(places.count(location) == pytest.approx(100, abs=30) for location in range(4))
    for pool in dataset.splits["train"]:
        names = [post.id for post in pool.candidates]
        assert names == sorted(names)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_malicious_pickle_is_not_run(tmp_path, protocol):
    trace = tmp_path / "trace"
    evil = Evil(os.mkdir, str(trace))
    write(tmp_path, pickle.dumps(DATA | {"train": evil}, protocol))
    with pytest.raises(
        DataError, match=r"dicts, lists, strings and numbers only, found 'posix.mkdir'"
    ):
        load_dataset("yahooqa", tmp_path)
    assert not trace.exists()
    pickle.loads((tmp_path / "env.pkl").read_bytes())  # the same bytes do run where nobody refuses
    assert trace.exists()


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected a pickle, found 'an empty file'"),
        (b"question\tanswer\n", "expected a whole pickle file"),
        (pickle.dumps(DATA)[:-20], "expected a whole pickle file"),
        (b"\x80\x04N\x8c\x03abcb.", "expected a whole pickle file"),
        (b"\x80\x04NNR.", "expected a whole pickle file"),
        ([1], r"expected a dict of splits, found '\[1\]'"),
        ({"train": SPLIT, "test": SPLIT}, r"under 'dev' or 'valid', found \"the splits \['train'"),
        (DATA | {"test": {}}, "a dict of questions under 'test', found '{}'"),
        (DATA | {"test": {"who?": []}}, r"expected answers for 'who\?', found '\[\]'"),
        (
            DATA | {"test": {"who?": [["me", 2]]}},
            r"\[answer, 0 or 1\] for 'who\?', found \"\['me', 2",
        ),
        (DATA | {"test": {"who?": [["me"]]}}, r"\[answer, 0 or 1\] for 'who\?', found"),
        (DATA | {"test": {"who?": [[None, 1]]}}, r"a text as an answer to 'who\?', found 'None'"),
        (DATA | {"test": {7: [["me", 1]]}}, "a text as question 0 of 'test', found '7'"),
        (DATA | {"test": nested(200)}, "a dict of questions under 'test'"),
    ],
)
def test_bad_files(tmp_path, content, message):
    with pytest.raises(DataError, match=message) as error:
        load_dataset("yahooqa", write(tmp_path, content))
    assert len(str(error.value).splitlines()) == 1


def test_truncated_gzip(tmp_path):
    write(tmp_path, gzip.compress(pickle.dumps(DATA))[:-10], "env.pkl.gz")
    with pytest.raises(DataError, match=r"env\.pkl\.gz: expected a whole gzip file"):
        load_dataset("yahooqa", tmp_path)


@pytest.mark.parametrize("names", [(), ("a.pkl", "b.pkl")])
def test_which_file_must_be_clear(tmp_path, names):
    for name in names:
        write(tmp_path, DATA, name)
    with pytest.raises(AskonceError, match=f"found {', '.join(names) or 'none'}"):
        load_dataset("yahooqa", tmp_path)
