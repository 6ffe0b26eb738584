import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.errors import DataError
from askonce.text.stopwords import STOPWORDS
from askonce.text.tokenise import tokenise
from askonce.text.vocabulary import PAD, UNK, Vocabulary

TEXTS = [["to", "be", "or", "not", "to", "be"], ["be", "here"], ["here", "zebra"], []]


@pytest.fixture
def vocabulary():
    return Vocabulary.build(TEXTS)


def test_rows_go_by_count_then_word(vocabulary):
    assert vocabulary.words == ["<pad>", "<unk>", "be", "here", "to", "not", "or", "zebra"]
    assert vocabulary.counts.tolist() == [0, 0, 3, 2, 2, 1, 1, 1]
    assert vocabulary.document_frequency.tolist() == [0, 0, 2, 2, 1, 1, 1, 1]
    assert (vocabulary.documents, len(vocabulary)) == (4, 8)
    assert vocabulary.words[2] == "be"
    assert "be" in vocabulary and "bee" not in vocabulary and "<pad>" not in vocabulary


def test_rare_words_and_long_tails_are_left_out():
    assert Vocabulary.build(TEXTS, min_count=2).words[2:] == ["be", "here", "to"]
    assert Vocabulary.build([]).words == ["<pad>", "<unk>"]


def test_unknown_words_have_negative_codes_that_still_tell_them_apart(vocabulary):
    codes = vocabulary.encode(["be", "lion", "here", "lynx", "lion"])
    assert codes.dtype == np.int64
    assert codes[[0, 2]].tolist() == [2, 3]
    assert codes[1] == codes[4] == -1 - zlib.crc32(b"lion")
    assert codes[3] < 0 and codes[3] != codes[1]
    assert vocabulary.encode([]).shape == (0,)


def test_encoding_does_not_add_words(vocabulary):
    vocabulary.encode(["lion"])
    assert "lion" not in vocabulary and len(vocabulary) == 8


def test_codes_of_unknown_words_are_the_same_in_another_process(vocabulary):
    program = (
        "from askonce.text.vocabulary import Vocabulary;"
        "raise SystemExit(str(Vocabulary.build([]).encode(['löwe']).tolist()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.strip() == str(vocabulary.encode(["löwe"]).tolist())


def test_a_text_cannot_write_padding():
    vocabulary = Vocabulary.build([["<pad>", "<unk>", "x"]])
    assert vocabulary.words == ["<pad>", "<unk>", "x"]
    assert (vocabulary.encode(["<pad>", "<unk>"]) < 0).all()


def test_idf_by_hand(vocabulary):
    np.testing.assert_allclose(vocabulary.idf()[2:5], np.log([4 / 2, 4 / 2, 4 / 1]))
    values = vocabulary.idf()
    assert np.isfinite(values).all() and values[PAD] == 0 and values[UNK] >= values.max()
    assert np.isfinite(Vocabulary.build([]).idf()).all()


@given(texts=st.lists(st.lists(st.text() | st.sampled_from(["\\", "\\t", "\t", "\n", "\ud800"]))))
def test_save_and_load_give_the_same_words(texts, tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "words.tsv"
    vocabulary = Vocabulary.build(texts)
    vocabulary.save(path)
    again = Vocabulary.load(path)
    assert (again.words, again.documents) == (vocabulary.words, vocabulary.documents)
    np.testing.assert_array_equal(again.counts, vocabulary.counts)
    np.testing.assert_array_equal(again.document_frequency, vocabulary.document_frequency)


def test_the_file_is_readable_text(vocabulary, tmp_path):
    vocabulary.save(tmp_path / "words.tsv")
    lines = (tmp_path / "words.tsv").read_text("utf-8").splitlines()
    assert lines[:2] == ["# askonce vocabulary, format 1, documents 4, words 6", "be\t3\t2"]


HEADER = "# askonce vocabulary, format 1, documents 4, words 2\n"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "empty file"),
        ("be\t3\t2\n", "line 1: expected the header"),
        (HEADER.replace("format 1", "format 9"), "line 1: expected vocabulary format 1"),
        (HEADER + "be\t3\t2\nhere\t2\n", "line 3: expected a word, its count"),
        (HEADER + "be\t3\t2\nhere\tmany\t2\n", "line 3: expected a word, its count"),
        (HEADER + "be\t3\t\nhere\t2\t2\n", "line 2: expected a word, its count"),
        (HEADER + "be\t3\t2\nbe\t2\t2\n", "line 3: expected each word once"),
        (HEADER + "be\t3\t2\n", "line 3: expected 2 words"),
    ],
)
def test_broken_files_name_their_line(content, complaint, tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text(content, "utf-8")
    with pytest.raises(DataError, match=complaint):
        Vocabulary.load(path)


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match="nothing at this path"):
        Vocabulary.load(tmp_path / "absent.tsv")


def test_stopwords_are_tokens_of_our_tokeniser():
    assert all(tokenise(word) == [word] for word in STOPWORDS)
    assert {"the", "don't", "i'm", "how"} <= STOPWORDS
    assert not {"insurance", "install", "ubuntu"} & STOPWORDS
