import gzip
import re
import shutil
from pathlib import Path

import pytest

from askonce.data.benchmarks import load_dataset
from askonce.data.benchmarks.semeval import clean, near_copies
from askonce.errors import AskonceError, DataError

XML = "SemEval2016-Task3-CQA-QL-{}.xml"


def thread(related, original="Q1", body="where?", attributes="", label="Good", match="Relevant"):
    return (
        f'<OrgQuestion ORGQ_ID="{original}">'
        "<OrgQSubject>Oil</OrgQSubject><OrgQBody>new</OrgQBody>\n"
        f"<Thread {attributes}>"
        f'<RelQuestion RELQ_ID="{related}" RELQ_RELEVANCE2ORGQ="{match}">'
        f"<RelQSubject>Oil</RelQSubject><RelQBody>{body}</RelQBody></RelQuestion>\n"
        f'<RelComment RELC_ID="{related}_C1" RELC_RELEVANCE2RELQ="{label}">'
        f"<RelCText>\n the  souq \n</RelCText></RelComment>\n"
        f"</Thread></OrgQuestion>\n"
    )


def write_xml(folder: Path, part: str, *threads: str) -> None:
    text = '<?xml version="1.0"?>\n<xml>\n' + "".join(threads) + "</xml>\n"
    (folder / XML.format(part)).write_text(text)


def counts(pools):
    labels = [label for pool in pools for label in pool.labels]
    return len(pools), len(labels), sum(labels)


@pytest.fixture(scope="module")
def subtask_a(published):
    return published("semeval-a")


@pytest.fixture(scope="module")
def subtask_b(data_folder):
    return load_dataset("semeval-b", data_folder / "semeval2016_task3")


@pytest.mark.data
def test_subtask_a_has_the_published_sizes(subtask_a):
    data = subtask_a
    assert counts(data.splits["dev"]) == (244, 2440, 818)
    assert counts(data.splits["test"]) == (315, 3150, 1257)
    assert counts(data.splits["train-part1"]) == (1771, 3916, 1433)
    assert counts(data.splits["train-part2"]) == (379, 3790, 1364)
    assert counts(data.splits["train-2015"]) == (3089, 18298, 9177)
    assert data.splits["train"] == data.splits["train-part1"] + data.splits["train-part2"]
    assert counts(data.splits["train-all"]) == (4797, 21652, 10147)
    assert data.protocol == "drop_no_pos"
    first = data.split("dev")[0]
    assert (first.query.id, first.query.title) == ("Q268_R16", "Best Bank.")
    assert first.candidates[0].kind == "answer"
    assert first.candidates[0].parent == "Q268_R16"


@pytest.mark.data
def test_what_is_tested_on_is_not_learned_from(subtask_a):
    """The data of 2015 holds 23 questions of the test set, in other word forms."""
    test = [pool.query.text for pool in subtask_a.splits["test"]]
    leaks = {
        name: sum(near_copies(test, [pool.query.text for pool in subtask_a.splits[name]]))
        for name in ("train-2015", "train-all")
    }
    assert leaks["train-2015"] >= 23
    assert leaks["train-all"] == sum(
        near_copies(test, [pool.query.text for pool in subtask_a.splits["train"]])
    )


@pytest.mark.data
def test_official_xml_of_subtask_a_equals_the_tables(subtask_a, data_folder, tmp_path):
    source = data_folder / "semeval2016_task3"
    for part in ("train-part2", "dev"):
        shutil.copy(source / "raw" / (XML.format(part) + ".gz"), tmp_path)
    official = load_dataset("semeval-a", tmp_path)
    assert official.splits["dev"] == subtask_a.splits["dev"]
    assert official.splits["train-part2"] == subtask_a.splits["train-part2"]
    assert official.splits["train"] == official.splits["train-part2"]


@pytest.mark.data
def test_subtask_b_has_the_published_sizes(subtask_b):
    data = subtask_b
    assert counts(data.split("train-lemma")) == (267, 2669, 1083)
    assert counts(data.split("dev-lemma")) == (50, 500, 214)
    assert counts(data.split("test-lemma")) == (70, 700, 233)
    assert counts(data.splits["train"]) == (267, 2669, 1083)
    assert counts(data.splits["dev"]) == (50, 500, 214)
    assert counts(data.splits["test"]) == (70, 684, 230)
    assert (data.train, data.dev, data.test) == ("train-lemma", "dev-lemma", "test-lemma")
    query = data.splits["test-lemma"][0].query
    assert query.title == "it job in qatar"
    assert query.body.startswith("how hard be it")


@pytest.mark.data
def test_lemmatised_candidates_stand_in_the_order_of_the_search_engine(subtask_b):
    # The organisers' baseline, which is that order, has MAP 0.7475 over all 70 questions.
    total = 0.0
    for pool in subtask_b.splits["test-lemma"]:
        hits = [rank for rank, label in enumerate(pool.labels, start=1) if label]
        total += sum(n / rank for n, rank in enumerate(hits, start=1)) / max(1, len(hits))
    assert total / 70 == pytest.approx(0.7475, abs=5e-5)


@pytest.mark.data
def test_quotes_of_the_raw_test_questions_are_gone(subtask_b):
    texts = [pool.query.text for pool in subtask_b.splits["test"]]
    assert not [text for text in texts if text.startswith('"') or text.endswith('"')]
    assert not [text for text in texts if '""' in text]
    assert any('"ooops"' in text for text in texts)  # the writer's own quotes stay


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("plain  text\n", "plain text"),
        ('"3rd cousin; possible??', "3rd cousin; possible??"),
        ('like ""lovers""..."', 'like "lovers"...'),
        ('"a ""b"" c"', 'a "b" c'),
        ('"""Open?"" thread"', '"Open?" thread'),
        ('""All"" said', '"All" said'),
        ('"""', '"'),
        ('"', ""),
        ("", ""),
    ],
)
def test_clean_undoes_csv_quoting(raw, expected):
    assert clean(raw) == expected


def test_xml_drops_threads_that_were_seen(tmp_path):
    write_xml(tmp_path, "train-part1", thread("Q1_R1"), thread("Q1_R2"), thread("Q1_R3", body="b"))
    flag = 'SubtaskA_Skip_Because_Same_As_RelQuestion_ID="Q9_R9"'
    write_xml(
        tmp_path,
        "dev",
        thread("Q2_R1", "Q2"),  # the text of Q1_R1
        thread("Q2_R2", "Q2", body="c", attributes=flag),
        thread("Q2_R3", "Q2", body="d", label="Bad"),
    )
    data = load_dataset("semeval-a", tmp_path)
    assert [pool.query.id for pool in data.splits["train"]] == ["Q1_R1", "Q1_R3"]
    assert [pool.query.id for pool in data.splits["dev"]] == ["Q2_R3"]
    assert data.splits["dev"][0].labels == (0,)
    assert data.splits["dev"][0].candidates[0].body == "the souq"


def test_subtask_b_reads_official_xml(tmp_path):
    write_xml(tmp_path, "train-part1", thread("Q1_R1"), thread("Q1_R2", match="Irrelevant"))
    write_xml(tmp_path, "train-part2", thread("Q2_R1", "Q2", match="PerfectMatch"))
    write_xml(tmp_path, "dev", thread("Q3_R1", "Q3"))
    data = load_dataset("semeval-b", tmp_path)
    assert sorted(data.splits) == ["dev", "train"]
    assert (data.train, data.dev, data.test) == ("train", "dev", "test")
    assert [pool.labels for pool in data.split("train")] == [(1, 0), (1,)]
    assert data.split("train")[0].query.title == "Oil"


def test_entities_are_refused(tmp_path):
    path = tmp_path / XML.format("dev")
    path.write_text('<?xml version="1.0"?>\n<!DOCTYPE xml [\n<!ENTITY a "b">\n]>\n<xml>&a;</xml>')
    with pytest.raises(DataError, match="line 3: expected no entity declarations, found 'a'"):
        load_dataset("semeval-a", tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<xml>\n<Thread>\n</xml>", "line 3: expected well-formed XML, found 'mismatched tag'"),
        ("<xml>\n<Thread/></xml>", "line 2: expected <RelQuestion>, found '<Thread> without it'"),
        (
            "<xml>\n\n<Thread><RelQuestion/></Thread></xml>",
            "line 3: expected an attribute 'RELQ_ID', found '<RelQuestion> without it'",
        ),
        (
            "<xml>\n" + thread("Q1_R1", label="?") + "</xml>",
            "line 4: expected Good or PotentiallyUseful or Bad, found '?'",
        ),
        ("", "expected at least one line, found 'an empty file'"),
    ],
)
def test_broken_xml_names_file_and_line(tmp_path, content, message):
    path = tmp_path / XML.format("dev")
    path.write_text(content)
    with pytest.raises(DataError, match="^" + re.escape(str(path)) + ".*" + re.escape(message)):
        load_dataset("semeval-a", tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"Q1\tC1\tGood\ts\tb\tc\nQ1\tC2\n", "line 2: expected 6 columns, found"),
        (b"Q1\tC1\tgood\ts\tb\tc\n", "line 1: expected Good or PotentiallyUseful or Bad"),
        (b"Q1\tC1\tGood\ts\tb\tc\n" * 2, "line 2: expected each candidate of 'Q1' once"),
        (
            b"Q1\tC1\tGood\ts\tb\tc\nQ1\tC2\tGood\ts\tother\tc\n",
            "line 2: expected one text for the question 'Q1'",
        ),
        (b"Q1\tC1\tGood\ts\tb\t\xff\n", "line 1: expected UTF-8 text"),
    ],
)
def test_broken_table_names_file_and_line(tmp_path, content, message):
    path = tmp_path / "A.dev.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError, match="^" + re.escape(str(path)) + ".*" + re.escape(message)):
        load_dataset("semeval-a", tmp_path)


def test_truncated_gzip_is_named(tmp_path):
    rows = "".join(f"Q1\tQ1_r{n}\tRelevant\ta . b\tc . d\n" for n in range(50))
    whole = gzip.compress(rows.encode(), mtime=0)
    (tmp_path / "B.lemma.dev.tsv.gz").write_bytes(whole[:-12])
    with pytest.raises(DataError, match="a whole gzip file"):
        load_dataset("semeval-b", tmp_path)


@pytest.mark.parametrize("name", ["semeval-a", "semeval-b"])
def test_a_folder_without_files_is_an_error(tmp_path, name):
    with pytest.raises(AskonceError, match=r"no [AB]\.\*\.tsv"):
        load_dataset(name, tmp_path)
