"""TrecQA: published counts, one result from both forms of the files, errors that say where."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askonce.data.benchmarks import load_dataset
from askonce.data.benchmarks.trecqa import FILES
from askonce.errors import AskonceError, DataError

COUNTS = {  # questions, pairs, positives
    "train": (93, 4_718, 348),
    "train-all": (1_229, 53_417, 6_410),
    "dev-raw": (81, 1_148, 222),
    "dev-clean": (65, 1_117, 205),
    "test-raw": (95, 1_517, 284),
    "test-clean": (68, 1_442, 248),
}
TABLE = "7\t1\tWho ?\tAnn & Bob .\n7\t0\tWho ?\tNobody .\n8\t0\tWhy ?\tBecause .\n"
JACANA = """<QApairs id='7'>
<question>
Who\t?
WP\t.
</question>
<positive>
Ann\t&\tBob\t.
NNP\tCC\tNNP\t.
</positive>
<negative>
Nobody\t.
NN\t.
</negative>
</QApairs>
<QApairs id='8'>
<question>
Why\t?
</question>
<negative>
Because\t.
</negative>
</QApairs>
<QApairs id='9'>
<question>
Unanswered\t?
</question>
</QApairs>
"""


def write(folder: Path, train: str | bytes, *, form: int = 0) -> Path:
    """A folder whose dev and test files are fine and whose training file holds ``train``."""
    folder.mkdir(exist_ok=True)
    good = (TABLE, JACANA)[form]
    for split, text in (("train", train), ("dev", good), ("test", good)):
        content = text.encode() if isinstance(text, str) else text
        (folder / FILES[split][form]).write_bytes(content)
    return folder


def counts(pools):
    return (
        len(pools),
        sum(len(pool.candidates) for pool in pools),
        sum(len(pool.positives) for pool in pools),
    )


def mean_place_of_positives(pools):
    """0.5 where the order by id knows nothing of the labels."""
    places = []
    for pool in pools:
        ranked = sorted(zip(pool.candidates, pool.labels, strict=True), key=lambda pair: pair[0].id)
        places += [(n + 0.5) / len(ranked) for n, (_, label) in enumerate(ranked) if label]
    return sum(places) / len(places)


@pytest.fixture(scope="module")
def real(published):
    return published("trecqa")


@pytest.mark.data
def test_counts_are_the_published_ones(real):
    assert {name: counts(pools) for name, pools in real.splits.items()} == COUNTS
    assert real.split("test") is real.splits["test-clean"]
    assert (real.train, real.tokeniser, real.protocol) == ("train-all", "whitespace", "trec")


@pytest.mark.data
def test_ids_are_unique_and_betray_nothing(real):
    pairs = sum(COUNTS[name][1] for name in ("train", "train-all", "dev-raw", "test-raw"))
    assert len(real.posts) == pairs
    for name in ("train-all", "test-raw"):
        assert mean_place_of_positives(real.splits[name]) == pytest.approx(0.5, abs=0.03)


@pytest.mark.data
def test_jacana_files_give_the_same_pools_as_the_tables(real, data_folder):
    jacana = load_dataset("trecqa", data_folder / "trecqa" / "jacana")
    assert jacana.train == "train"
    for name in jacana.splits:
        assert jacana.splits[name] == real.splits[name]


TOKEN = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)
SENTENCE = st.lists(TOKEN, min_size=1, max_size=4)
QUESTIONS = st.lists(
    st.tuples(SENTENCE, st.lists(st.tuples(st.booleans(), SENTENCE), min_size=1)), min_size=1
)


@settings(suppress_health_check=list(HealthCheck))
@given(questions=QUESTIONS)
def test_both_forms_of_any_file_agree(questions, tmp_path_factory):
    table, jacana = "", ""
    for number, (question, sentences) in enumerate(questions):
        jacana += f"<QApairs id='{number}'>\n<question>\n" + "\t".join(question) + "\n</question>\n"
        for right, sentence in sentences:
            table += f"{number}\t{right:d}\t{' '.join(question)}\t{' '.join(sentence)}\n"
            tag = "positive" if right else "negative"
            jacana += f"<{tag}>\n" + "\t".join(sentence) + f"\n</{tag}>\n"
        jacana += "</QApairs>\n"
    folder = tmp_path_factory.mktemp("trecqa")
    one = load_dataset("trecqa", write(folder / "tables", table))
    two = load_dataset("trecqa", write(folder / "jacana", jacana, form=1))
    assert one.splits["train"] == two.splits["train"]
    assert counts(one.splits["train"])[:2] == (len(questions), table.count("\n"))


def test_small_files(tmp_path):
    dataset = load_dataset("trecqa", write(tmp_path / "trecqa", TABLE).parent)
    first, second = dataset.splits["dev-raw"]
    assert (first.query.id, first.query.title) == ("7", "Who ?")
    assert {
        post.body: label for post, label in zip(first.candidates, first.labels, strict=True)
    } == {
        "Ann & Bob .": 1,
        "Nobody .": 0,
    }
    assert all(post.id.startswith("7-") and post.kind == "answer" for post in first.candidates)
    assert dataset.splits["dev-clean"] == (first,)
    assert second.labels == (0,)
    assert dataset.train == "train"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "at least one line, found 'an empty file'"),
        (TABLE + "8\t0\tWhy ?\n", r"line 4: expected 4 columns, found \"3 in"),
        (TABLE + "8\t2\tWhy ?\tBecause .\n", "line 4: expected a label 0 or 1, found '2'"),
        (TABLE + "8\t\tWhy ?\tBecause .\n", "line 4: expected a label 0 or 1, found ''"),
        (TABLE + "8\t0\tWhen ?\tNow .\n", "line 4: expected one text for the question '8'"),
        (TABLE.encode() + b"8\t0\tWhy ?\t\xff\n", "line 4: expected UTF-8 text"),
    ],
)
def test_bad_tables(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        load_dataset("trecqa", write(tmp_path, content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n", "at least one question"),
        ("<html>\n", "line 1: expected a tag such as"),
        ("<positive>\na\n</positive>\n", "line 1: expected <QApairs id='1'>, found '<positive>'"),
        ("<QApairs>\n", "line 1: expected an id in <QApairs> only"),
        ("<QApairs id='1'>\n<positive>\na\n", "line 3: expected the question of '1' before"),
        ("<QApairs id='1'>\n<question>\na\n</positive>\n", "line 4: expected an opening tag"),
        (JACANA.removesuffix("</QApairs>\n"), "line 26: expected </QApairs>, found 'the end"),
        (JACANA.replace("</positive>\n", ""), "line 9: expected </positive>, found '<negative>'"),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n', "line 1: expected a tag"),
    ],
)
def test_bad_jacana_files(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        load_dataset("trecqa", write(tmp_path, content, form=1))


def test_truncated_gzip(tmp_path):
    write(tmp_path, TABLE)
    (tmp_path / "train.tsv").unlink()
    (tmp_path / "train.tsv.gz").write_bytes(gzip.compress(TABLE.encode() * 100)[:-9])
    with pytest.raises(DataError, match=r"train\.tsv\.gz, line \d+: expected a whole gzip file"):
        load_dataset("trecqa", tmp_path)


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_missing_files_are_named(tmp_path, split):
    write(tmp_path, TABLE)
    (tmp_path / f"{split}.tsv").unlink()
    with pytest.raises(AskonceError, match=rf"no .*{split}\.tsv\[\.gz\] or .*manual-edit\.xml"):
        load_dataset("trecqa", tmp_path)
