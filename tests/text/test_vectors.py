import gzip
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.errors import ConfigError, DataError
from askonce.files import rows
from askonce.text.read_vectors import read_vectors
from askonce.text.tokenise import split_whitespace, tokenise
from askonce.text.vectors import WordVectors, fuse_vectors, train_skipgram, vectors_for
from askonce.text.vocabulary import PAD, UNK, Vocabulary

WORDS = ["the", "löwe", ". . .", "at home"]
MATRIX = np.array([[0.5, -1.25, 2], [3, 0, -0.5], [1, 1, 1], [-2, 0.25, 4]], np.float32)


def text_lines(words=WORDS, matrix=MATRIX):
    numbers = (" ".join(str(float(x)) for x in row) for row in matrix)
    return [f"{word} {row}\n" for word, row in zip(words, numbers, strict=True)]


def binary(words=("the", "löwe"), matrix=MATRIX[:2], newline=b"\n"):
    entries = (
        w.encode() + b" " + row.tobytes() + newline for w, row in zip(words, matrix, strict=True)
    )
    return f"{len(words)} {matrix.shape[1]}\n".encode() + b"".join(entries)


def save_npz(folder, words=WORDS, **arrays):
    np.savez(folder / "some.npz", **arrays)
    (folder / "words.txt").write_text("\n".join(words) + "\n", "utf-8")
    return folder


FORMS = {
    "glove.txt": "".join(text_lines()).encode(),
    "word2vec.txt": ("4 3\n" + "".join(text_lines())).encode(),
    "blanks.txt": ("4 3\r\n" + "".join(text_lines()).replace("\n", " \r\n")).encode(),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("gzipped", [False, True])
def test_text_forms(name, gzipped, tmp_path):
    path = tmp_path / (name + ".gz" * gzipped)
    path.write_bytes(gzip.compress(FORMS[name]) if gzipped else FORMS[name])
    vectors = read_vectors(path)
    assert vectors.words == WORDS and vectors.dim == 3 and vectors.matrix.dtype == np.float32
    np.testing.assert_array_equal(vectors.matrix, MATRIX)


@pytest.mark.parametrize("newline", [b"\n", b""])
@pytest.mark.parametrize("gzipped", [False, True])
def test_binary_form(newline, gzipped, tmp_path):
    content = binary(newline=newline)
    path = tmp_path / ("some.bin" + ".gz" * gzipped)
    path.write_bytes(gzip.compress(content) if gzipped else content)
    vectors = read_vectors(path)
    assert vectors.words == ["the", "löwe"]
    np.testing.assert_array_equal(vectors.matrix, MATRIX[:2])


def test_binary_form_larger_than_the_read_buffer(tmp_path):
    matrix = np.random.default_rng(1).normal(size=(3000, 100)).astype(np.float32)
    words = [f"w{n}" for n in range(3000)]
    (tmp_path / "some.bin").write_bytes(binary(words, matrix))
    vectors = read_vectors(tmp_path / "some.bin", only=["w7", "w2999", "absent"])
    assert vectors.words == ["w7", "w2999"]
    np.testing.assert_array_equal(vectors.matrix, matrix[[7, 2999]])


def test_gensim_reads_and_writes_the_same(tmp_path):
    from gensim.models import KeyedVectors

    theirs = KeyedVectors(3)
    theirs.add_vectors(["the", "löwe"], MATRIX[:2])
    for name, is_binary in (("a.txt", False), ("a.bin", True)):
        theirs.save_word2vec_format(str(tmp_path / name), binary=is_binary)
        vectors = read_vectors(tmp_path / name)
        assert vectors.words == ["the", "löwe"]
        np.testing.assert_array_equal(vectors.matrix, MATRIX[:2])


def test_npz_and_words(tmp_path):
    save_npz(tmp_path, vectors=MATRIX.astype(np.float16))
    for path in (tmp_path, tmp_path / "some.npz"):
        vectors = read_vectors(path)
        assert vectors.words == WORDS and vectors.matrix.dtype == np.float32
        np.testing.assert_array_equal(vectors.matrix, MATRIX)


@pytest.mark.parametrize("name", [*FORMS, "npz"])
def test_only_some_words(name, tmp_path):
    if name == "npz":
        path = save_npz(tmp_path, vectors=MATRIX)
    else:
        path = tmp_path / name
        path.write_bytes(FORMS[name])
    vectors = read_vectors(path, only=["at home", "löwe", "absent"])
    assert vectors.words == ["löwe", "at home"]
    np.testing.assert_array_equal(vectors.matrix, MATRIX[[1, 3]])
    nothing = read_vectors(path, only=[])
    assert len(nothing) == 0 and nothing.dim == 3


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "empty file"),
        (b"\n\n", "line 1.*an empty line"),
        (b"just some prose\n", "line 1: expected a word and its vector"),
        (b"the 1 2 3\ncat 1 2\n", "line 2: expected a word and 3 numbers"),
        (b"the 1 2 3\ncat 1 2 3 4\n", "line 2: expected a word and 3 numbers"),
        (b"the 1 2 3\ncat 1 x 3\n", "line 2: expected numbers.*x"),
        (b"the 1 2 3\n\ncat 1 2 3\n", "line 2: expected a word and 3 numbers"),
        (b"the 1 2 3\ncat 1 nan 3\n", "line 2: expected finite numbers.*cat"),
        (b"2 3\nthe 1 2 3\ncat 1 inf 3\n", "line 3: expected finite numbers.*cat"),
        (b"2 3\nthe 1 2\ncat 1 2 3\n", "line 2: expected a word and 3 numbers"),
        (b"3 3\nthe 1 2 3\ncat 1 2 3\n", "expected 3 words, found '2'"),
        (b"0 3\n", "line 1: expected at least one word"),
        (b"5 0\n", "line 1: expected at least one word"),
        (binary()[:-5], "expected 2 words, found 'an end in word 2'"),
        (binary()[:9], "expected 2 words"),
        (binary(matrix=MATRIX[:2] * np.float32("nan")), "expected finite numbers.*the"),
    ],
)
def test_broken_files_name_their_line(content, complaint, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    with pytest.raises(DataError, match=complaint) as error:
        read_vectors(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_truncated_gzip(tmp_path):
    path = tmp_path / "some.txt.gz"
    path.write_bytes(gzip.compress(FORMS["glove.txt"])[:-12])
    with pytest.raises(DataError, match="whole gzip"):
        read_vectors(path)
    path.write_bytes(b"no gzip at all")
    with pytest.raises(DataError, match="whole gzip"):
        read_vectors(path)


def test_broken_npz(tmp_path):
    with pytest.raises(DataError, match="nothing at this path"):
        read_vectors(tmp_path / "absent")
    with pytest.raises(DataError, match="expected one"):
        read_vectors(tmp_path)
    with pytest.raises(DataError, match="'vectors'"):
        read_vectors(save_npz(tmp_path, matrix=MATRIX))
    with pytest.raises(DataError, match="4 vectors of numbers"):
        read_vectors(save_npz(tmp_path, vectors=MATRIX[:3]))
    with pytest.raises(DataError, match="npz file"):
        read_vectors(save_npz(tmp_path, vectors=np.array([{}] * 4)))
    with pytest.raises(DataError, match="line 2: expected finite numbers"):
        read_vectors(save_npz(tmp_path, vectors=np.where(MATRIX == 3, np.nan, MATRIX)))
    (tmp_path / "some.npz").write_bytes(b"no zip")
    with pytest.raises(DataError, match="an npz file"):
        read_vectors(tmp_path)


@given(st.binary(max_size=200) | st.text(alphabet="0123 .\nab-e\x00").map(str.encode))
def test_garbage_gives_vectors_or_a_data_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("garbage") / "vectors"
    path.write_bytes(content)
    try:
        vectors = read_vectors(path)
    except DataError:
        return
    assert np.isfinite(vectors.matrix).all() and len(vectors.words) == len(vectors.matrix)


def test_of_a_word_twice_the_first_counts():
    vectors = WordVectors(["a", "b", "a"], MATRIX[:3])
    np.testing.assert_array_equal(vectors["a"], MATRIX[0])
    assert "b" in vectors and "c" not in vectors and len(vectors) == 3


@pytest.fixture(scope="module")
def animals():
    rng = np.random.default_rng(1)
    topics = [["cat", "dog", "pet", "vet"], ["car", "road", "fuel", "driver"]]
    return [rng.choice(topics[n % 2], size=8).tolist() for n in range(600)]


def test_skipgram_finds_the_topics_and_is_reproducible(animals):
    vectors = train_skipgram(animals, dim=16, epochs=60, seed=3)
    assert vectors.matrix.shape == (8, 16) and vectors.matrix.dtype == np.float32

    def cosine(a, b):
        a, b = vectors[a], vectors[b]
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    assert cosine("cat", "vet") > cosine("cat", "fuel") + 0.2
    again = train_skipgram(iter(animals), dim=16, epochs=60, seed=3)
    assert again.words == vectors.words
    np.testing.assert_array_equal(again.matrix, vectors.matrix)


def test_skipgram_without_frequent_words():
    with pytest.raises(ConfigError, match="no word occurs 5 times"):
        train_skipgram([["once"]])


def test_fuse_takes_own_vectors_only_for_what_is_lacking():
    pretrained = WordVectors(["the", "cat"], np.array([[3, 4], [0, 5]], np.float32))
    own = WordVectors(["cat", "systemd"], np.array([[0, 1], [1, 0]], np.float32))
    fused = fuse_vectors(pretrained, own)
    assert fused.words == ["the", "cat", "systemd"] and fused.matrix.dtype == np.float32
    np.testing.assert_allclose(fused.matrix, [[3, 4], [0, 5], [5, 0]])
    assert fuse_vectors(pretrained, pretrained) is pretrained


def test_fuse_needs_one_dimension():
    with pytest.raises(ConfigError, match="train them with dim=3"):
        fuse_vectors(WordVectors(WORDS, MATRIX), WordVectors(["x"], MATRIX[:1, :2]))


def test_rows_for_a_vocabulary():
    vocabulary = Vocabulary.build([["löwe", "löwe", "zebra", "<pad>"]])
    vectors = WordVectors(["<unk>", "löwe"], MATRIX[:2])
    table = vectors_for(vocabulary, vectors)
    assert table.shape == (4, 3) and table.dtype == np.float32
    np.testing.assert_array_equal(table[PAD], 0)
    np.testing.assert_array_equal(table[2], MATRIX[1])
    assert (np.abs(table[[UNK, 3]]) <= 0.25).all() and table[[UNK, 3]].all()


def test_random_rows_depend_on_word_and_seed_alone():
    first = Vocabulary.build([["a", "b", "b", "\ud800"]])
    other = Vocabulary.build([["x", "a", "a", "b"]])
    table, again = vectors_for(first, dim=50), vectors_for(other, dim=50)
    for word in "ab":
        row, other_row = first.words.index(word), other.words.index(word)
        np.testing.assert_array_equal(table[row], again[other_row])
    assert not np.array_equal(table[2], table[3])
    assert not np.array_equal(table[2], vectors_for(first, dim=50, seed=2)[2])


def test_random_rows_are_uniform():
    vocabulary = Vocabulary.build([[str(n) for n in range(1000)]])
    values = vectors_for(vocabulary, dim=100)[2:]
    assert values.min() < -0.249 and values.max() > 0.249
    assert abs(values.mean()) < 0.002 and abs(values.std() - 0.5 / 12**0.5) < 0.002


def test_dim_must_be_that_of_the_vectors():
    vocabulary = Vocabulary.build([["x"]])
    assert vectors_for(vocabulary).shape == (3, 100)
    with pytest.raises(ConfigError, match="dim = 50, but the word vectors have 3"):
        vectors_for(vocabulary, WordVectors(WORDS, MATRIX), dim=50)


def known_tokens(vocabulary, vectors):
    """The share of tokens that have a vector."""
    known = [word in vectors for word in vocabulary.words]
    return vocabulary.counts[known].sum() / vocabulary.counts.sum()


@pytest.mark.data
@pytest.mark.slow
def test_glove_covers_the_benchmarks(data_folder):
    answers = (fields[1] for _, fields in rows(data_folder / "insuranceqa_v2/answers.en.tsv.gz", 2))
    insurance = Vocabulary.build(map(tokenise, itertools.islice(answers, 5000)))
    trec_rows = rows(data_folder / "trecqa" / "train.tsv.gz", 4)
    trec = Vocabulary.build(split_whitespace(text) for _, f in trec_rows for text in f[2:])
    glove = read_vectors(data_folder / "glove_6b_100d", only={*insurance.words, *trec.words})
    # The rest is "a", "i", numbers and contractions, which this GloVe lacks.
    assert known_tokens(insurance, glove) > 0.94
    assert known_tokens(trec, glove) > 0.92
    np.testing.assert_allclose(glove["the"][:4], [-0.0382, -0.2449, 0.7281, -0.3996], atol=1e-4)


def test_numbers_without_a_vector_are_near_others_of_their_shape():
    vocabulary = Vocabulary.build([["1969", "1984", "12th", "31st", "alpha", "7"]])
    known = WordVectors(["known"], np.full((1, 50), 2.0, np.float32))
    table = dict(zip(vocabulary.words, vectors_for(vocabulary, known), strict=True))
    unit = {word: row / np.linalg.norm(row) for word, row in table.items() if word != "<pad>"}
    assert unit["1969"] @ unit["1984"] > 0.9  # 1 / (1 + OWN_PART²)
    assert max(abs(unit["1969"] @ unit[w]) for w in ("12th", "31st", "alpha", "7")) < 0.5
    assert np.linalg.norm(table["1969"]) == pytest.approx(np.linalg.norm(known.matrix[0]))
    assert np.abs(table["alpha"]).max() <= 0.25
    alone = vectors_for(Vocabulary.build([["1984"]]), known)[2]
    assert np.array_equal(alone, table["1984"])
