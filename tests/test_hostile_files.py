"""Files made to fill memory, disk or time are refused at once, in one line."""

import gzip
import json
import os
import time
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce import files
from askonce.archive import Archive, load
from askonce.data.formats import csv, xml
from askonce.data.formats.xml import parse_xml
from askonce.data.forums import IMPORTERS, Source
from askonce.errors import AskonceError, DataError
from askonce.evaluation.trec_files import read_qrels, read_run
from askonce.ranker import Ranker
from askonce.ranking.manifest import current, read_manifest
from askonce.text.lexicon import Lexicon
from askonce.text.vocabulary import Vocabulary
from askonce.types import Post

LAUGHS = "".join(f'<!ENTITY a{n} "&a{n - 1};&a{n - 1};">' for n in range(1, 31))
BILLION = f'<!DOCTYPE lolz [<!ENTITY a0 "ha">{LAUGHS}]><posts><row Id="1" Title="&a30;"/></posts>'
GIGABYTE = 1 << 30


@contextmanager
def refused(message):
    """An error of one line, within two seconds of this processor."""
    begin = time.process_time()
    with pytest.raises(AskonceError, match=message) as caught:
        yield
    assert time.process_time() - begin < 2
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def imported(form, path):
    return load(Archive.in_memory(), IMPORTERS[form](Source(path)))


def test_a_billion_laughs(tmp_path):
    path = tmp_path / "Posts.xml"
    path.write_text(BILLION)
    with refused("expected no document type, which may hide entities, found 'lolz'"):
        imported("stackexchange", tmp_path)
    with refused("expected no entity declarations, found 'a0'"):
        parse_xml(path)


def endless(path, size, head=b""):
    """A file of one line, which takes no room on the disk."""
    with path.open("wb") as stream:
        stream.write(head)
        stream.truncate(size)
    return path


READERS = {
    "jsonl": lambda folder, size: imported("jsonl", endless(folder / "a.jsonl", size, b'{"id": "')),
    "csv": lambda folder, size: imported("csv", endless(folder / "a.csv", size, b'title\n"')),
    "header": lambda folder, size: imported("csv", endless(folder / "a.csv", size)),
    "xml": lambda folder, size: (
        endless(folder / "Posts.xml", size, b'<posts><row Id="'),
        imported("stackexchange", folder),
    ),
    "qrels": lambda folder, size: read_qrels(endless(folder / "qrels", size)),
    "run": lambda folder, size: read_run(endless(folder / "run", size)),
    "vocabulary": lambda folder, size: Vocabulary.load(endless(folder / "vocabulary", size)),
}
ENDLESS = "expected (a record, found 'none in|lines of less than)"


@pytest.mark.parametrize("reader", READERS)
def test_an_endless_line(tmp_path, monkeypatch, reader):
    for module in (files, csv, xml):
        monkeypatch.setattr(module, "LONGEST_RECORD", 10_000)
    monkeypatch.setattr(files, "LONGEST_GAP", 40_000)
    with refused(ENDLESS):
        READERS[reader](tmp_path, 1 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_a_gigabyte_of_one_line(tmp_path, reader):
    with refused(ENDLESS):
        READERS[reader](tmp_path, GIGABYTE)


def bomb(path, size):
    with gzip.open(path, "wb") as stream:
        for _ in range(size >> 20):
            stream.write((b" " * 1023 + b"\n") * 1024)
    return path


def test_a_small_gzip_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SMALL", 1 << 20)
    path = bomb(tmp_path / "qrels.gz", 4 << 20)
    with refused("at most 200 times its packed size"):
        sum(1 for _ in files.numbered_lines(path))
    with refused("at most 200 times its packed size"):
        imported("jsonl", path.rename(tmp_path / "posts.jsonl.gz"))


@pytest.mark.slow
def test_a_gzip_bomb_of_a_gigabyte(tmp_path):
    path = bomb(tmp_path / "posts.jsonl.gz", GIGABYTE)
    with refused("at most 200 times its packed size"):
        imported("jsonl", path)


@given(st.binary(max_size=300), st.sampled_from([read_run, read_qrels]))
def test_any_bytes_are_a_table_of_trec_or_a_line_that_says_why_not(tmp_path_factory, data, read):
    path = tmp_path_factory.getbasetemp() / "table"
    path.write_bytes(data)
    read_or_told(lambda: read(path))


def read_or_told(read):
    try:
        read()
    except AskonceError as error:
        assert "\n" not in str(error)


def left(path, name="hyperqa", **options):
    """A model folder."""
    lexicon = Lexicon.build([Post("1", title="one two three")])
    vectors = np.zeros((len(lexicon.vocabulary), 4), dtype=np.float32)
    Ranker.create(name, lexicon, vectors, options).save(path)
    return path


@pytest.fixture
def folder(tmp_path):
    return left(tmp_path / "model", dim=4)


@given(st.data())
def test_any_bytes_in_a_model_folder_are_a_model_or_a_line_that_says_why_not(
    tmp_path_factory, data
):
    folder = tmp_path_factory.getbasetemp() / "any"
    if not folder.exists():
        left(folder, dim=4)
    path = folder / data.draw(
        st.sampled_from(["config.json", "vocabulary.tsv", "model.safetensors"])
    )
    whole = path.read_bytes()
    start = data.draw(st.integers(0, len(whole)))
    end = start + data.draw(st.integers(0, 20))
    path.write_bytes(whole[:start] + data.draw(st.binary(max_size=20)) + whole[end:])
    try:
        read_or_told(lambda: Ranker.load(folder))
    finally:
        path.write_bytes(whole)


def rewrite(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("name", ["config.json", "vocabulary.tsv", "model.safetensors"])
def test_a_file_of_a_model_that_is_a_link_to_elsewhere(folder, name):
    (folder / name).rename(folder.parent / "elsewhere")
    (folder / name).symlink_to(folder.parent / "elsewhere")
    with refused(f"expected the name of something in it, found '{name}'"):
        Ranker.load(folder)


@pytest.mark.parametrize("name", ["../elsewhere", "/etc", "..", "", "a/../../b", "link", "a\0b"])
@pytest.mark.parametrize("part", ["encoder", "pair"])
def test_a_manifest_whose_path_climbs_out(tmp_path, name, part):
    (tmp_path / "0001").mkdir()
    (tmp_path / "0001" / "link").symlink_to("/etc")
    manifest = {"format": 1, "created": "", "questions": {part: name}}
    (tmp_path / "0001" / "manifest.json").write_text(json.dumps(manifest))
    with refused("expected the name of something in it"):
        read_manifest(tmp_path / "0001")


def test_models_in_service_are_below_their_archive(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "0001").symlink_to("/etc")
    (tmp_path / "models" / "current").write_text("0001\n")
    with refused("expected the name of something in it, found '0001'"):
        current(tmp_path)


def test_settings_ask_for_no_more_memory_than_the_weights_have(folder):
    before = os.stat(folder / "model.safetensors").st_size
    for dim, message in ((90_000, "the weights of 'hyperqa'"), (10**12, "'dim' of at most")):
        rewrite(folder / "config.json", settings={"dim": dim})
        with refused(message):
            Ranker.load(folder)
    assert before < 10_000


def test_settings_ask_for_no_more_layers_than_there_are_weights(tmp_path):
    folder = left(tmp_path / "model", "cabin", hidden=4, similarity=4)
    config = json.loads((folder / "config.json").read_text())
    rewrite(folder / "config.json", settings=config["settings"] | {"layers": 99_999})
    with refused("found 'more layers than there are weights'"):
        Ranker.load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokeniser": "pickle"}, "a tokeniser of words, whitespace"),
        ({"max_words": -1}, "'max_words' of 1 or more"),
        ({"max_words": "x"}, "'max_words' of 1 or more"),
        ({"settings": {"dim": -4}}, "settings of 'hyperqa'"),
        ({"settings": {"dim": 0}}, "hyperqa"),
        ({"settings": {"dim": "4"}}, "dim = '4'; expected int"),
    ],
)
def test_settings_that_are_impossible(folder, changes, message):
    rewrite(folder / "config.json", **changes)
    with refused(message):
        Ranker.load(folder)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "1" * 5_000, '{"format": ' + "9" * 5000 + "}", "\xff"]
)
def test_json_that_is_none(folder, text):
    for name in ("config.json", "manifest.json"):
        (folder / name).write_bytes(text.encode("latin1"))
    with refused("expected JSON"):
        Ranker.load(folder)
    with refused("expected JSON"):
        read_manifest(folder)


@pytest.mark.parametrize("number", ["9" * 19, "9" * 5000])
def test_counts_that_no_machine_holds(folder, number):
    path = folder / "vocabulary.tsv"
    header, *lines = path.read_text().splitlines()
    path.write_text("\n".join([header, f"one\t{number}\t1", *lines[1:]]) + "\n")
    with refused("a word, its count and its document frequency"):
        Ranker.load(folder)
    path.write_text("\n".join([header.replace("documents 1", f"documents {number}"), *lines]))
    with pytest.raises(DataError, match="the header of a vocabulary"):
        Ranker.load(folder)
