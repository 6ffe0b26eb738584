"""What is special about an index on Milvus; what it shares with others is in the contract."""

import sys
import zlib
from collections import Counter
from importlib.util import find_spec

import numpy as np
import pytest

from askonce.archive import open_archive
from askonce.errors import AskonceError, MissingExtra
from askonce.index.base import IndexDamaged, IndexUnavailable, KeyEncoder
from askonce.index.lexical import LexicalIndex
from askonce.index.milvus.keys import MilvusKeys
from askonce.index.milvus.words import LONGEST, MilvusWords
from askonce.index.storage import FolderStorage, MilvusStorage, index_storage
from askonce.index.vectors import VectorIndex
from askonce.types import Post

pytestmark = pytest.mark.skipif(
    not (find_spec("pymilvus") and find_spec("milvus_lite")),
    reason="pymilvus or milvus-lite is not installed",
)


class LongKeys(KeyEncoder):
    """Keys that look like HyperQA's: some of them very long."""

    def __init__(self, name="long", dim=20):
        self.name, self.dim = name, dim

    def query_keys(self, texts):
        keys = [self._random(text).normal(size=self.dim) for text in texts]
        return np.array(keys, dtype=np.float32)

    def candidate_keys(self, posts):
        scale = [self._random(post.id).pareto(1) + 1 for post in posts]
        return self.query_keys([post.text for post in posts]) * np.float32(scale)[:, None]

    def _random(self, text):
        return np.random.default_rng(zlib.crc32(text.encode()))


@pytest.fixture
def address(tmp_path):
    return str(tmp_path / "index.db")


@pytest.fixture(scope="module")
def questions():
    archive = open_archive("bicycles")
    yield list(archive.iterate("question"))
    archive.close()


def test_exact_search_finds_what_the_embedded_index_finds(address, questions):
    posts = [Post(f"{post.id}-{n}", post.title, post.body) for post in questions for n in range(2)]
    indexes = [MilvusKeys(address, "keys", LongKeys()), VectorIndex(None, LongKeys())]
    for index in indexes:
        index.add(posts)
        index.remove([post.id for post in posts[::7]])
    for post in questions[:20]:
        ours, theirs = (index.search(post.title, 10) for index in indexes)
        assert ours == theirs  # the scores too, to the last digit
        ids = [hit.id for hit in ours] + ["nobody"]
        assert indexes[0].score(post.title, ids) == pytest.approx(
            indexes[1].score(post.title, ids), rel=1e-12
        )
    indexes[0].close()


def bm25(posts, query, terms):
    """By the formula; the embedded index, which rounds the lengths of texts, is near to it."""
    texts = [Counter(terms(post.text)) for post in posts]
    lengths = np.array([text.total() for text in texts])
    scores = np.zeros(len(posts))
    for term, times in Counter(terms(query)).items():
        counts = np.array([text[term] for text in texts])
        having = (counts > 0).sum()
        idf = np.log(1 + (len(posts) - having + 0.5) / (having + 0.5))
        norm = 1.2 * (1 - 0.75 + 0.75 * lengths / lengths.mean())
        scores += times * idf * counts * 2.2 / (counts + norm)
    return scores


def test_bm25_is_that_of_the_formula_and_near_that_of_the_embedded_index(address, questions):
    index, embedded = MilvusWords(address, "words"), LexicalIndex()
    for one in (index, embedded):
        one.add(questions)
    ids = [post.id for post in questions]
    first, shared = [], []
    for post in questions[::10]:
        exact = bm25(questions, post.title, index.terms)
        assert index.score(post.title, ids) == pytest.approx(exact, rel=1e-4)
        hits, others = index.search(post.title, 10), embedded.search(post.title, 10)
        assert [hit.score for hit in hits] == pytest.approx(sorted(exact)[::-1][:10], rel=1e-4)
        first.append(hits[0].id == others[0].id)
        shared.append(len({hit.id for hit in hits} & {hit.id for hit in others}) / 10)
        assert dict(others).get(hits[0].id, 0) == pytest.approx(hits[0].score, rel=0.08)
    assert np.mean(first) > 0.98 and np.mean(shared) > 0.95
    index.close()


def test_bm25_of_some_posts_by_a_filter_is_that_of_a_search(address, questions):
    """As on a server; milvus-lite does so for what is in its files."""
    index = MilvusWords(address, "words")
    index.add(questions)
    index._milvus.client.flush("words")
    index._milvus.is_lite = False
    hits = index.search("squealing disc brakes", 20)
    scores = index.score("squealing disc brakes", [*(hit.id for hit in hits), "nobody"])
    assert scores == pytest.approx([*(hit.score for hit in hits), 0.0], rel=1e-6)
    index.close()


def test_words_are_those_of_our_tokeniser(address):
    index = MilvusWords(address, "words")
    texts = ["c++ code", "c# code", "c code", "don't", "node.js", "日本", "🚲 ride", "/etc/fstab"]
    index.add([Post(str(n), title=text) for n, text in enumerate(texts)])
    wanted = {"c++": ["0"], "c#": ["1"], "dont": [], "node": [], "本": ["5"], "🚲": ["6"]}
    assert {query: [hit.id for hit in index.search(query)] for query in wanted} == wanted
    assert [hit.id for hit in index.search("/etc/fstab")] == ["7"]
    index.close()


def test_what_is_too_long_for_milvus_is_cut_at_a_word(address):
    index = MilvusWords(address, "words")
    index.add([Post("long", title="needle", body="hay " * LONGEST + "end"), Post("x", title="x")])
    assert index.search("needle")[0].id == "long"
    assert index.search("end") == []
    index.close()


def test_a_reader_sees_what_a_writer_adds(address, questions):
    with pytest.raises(IndexDamaged, match="no posts yet"):
        MilvusWords(address, "words", writer=False)
    writer = MilvusWords(address, "words")
    reader = MilvusWords(address, "words", writer=False)
    writer.add(questions)
    writer.position = 7
    writer.save()
    reader.reload()
    assert (reader.position, len(reader)) == (7, len(questions))
    assert reader.search("brakes", 3) == writer.search("brakes", 3)
    with pytest.raises(AskonceError, match="for reading only"):
        reader.add(questions)
    writer.close()
    reader.close()


def test_an_index_made_by_others_is_damaged(address):
    MilvusKeys(address, "keys", LongKeys("one")).close()
    for other in (LongKeys("two"), LongKeys("two", dim=7)):
        with pytest.raises(IndexDamaged, match="was made otherwise"):
            MilvusKeys(address, "keys", other)


def test_a_home_keeps_its_archive_s_collections_apart(address, tmp_path):
    bikes, others = MilvusStorage(address, "bikes"), MilvusStorage(address, "bikes keys")
    index = others.words("question")
    index.add([Post("x", title="x")])
    names = set()
    for models in ("0001", "0002", "0003"):
        keys = bikes.keys("question", LongKeys(), models)
        names.add(keys.name)
        keys.close()
    words = bikes.words("question")
    collections = index._milvus.client.list_collections
    assert names <= set(collections())
    bikes.keep_only("0003", "0002")
    assert {name for name in collections() if "0001" in name} == set()
    assert len(names & set(collections())) == 2
    bikes.clear()
    assert not names & set(collections()) and words.name not in collections()
    with pytest.raises(IndexDamaged):
        words.search("x")
    assert index.search("x")
    words.close()
    index.close()


def test_a_home_is_chosen_by_its_address(tmp_path, monkeypatch):
    assert index_storage(None, tmp_path, "a", True) == FolderStorage(tmp_path)
    for address in ("a.db", "http://host:19530", "https://host"):
        assert index_storage(address, tmp_path, "a", False) == MilvusStorage(address, "a", False)
    with pytest.raises(AskonceError, match=r"no index at 'host:19530'; expected .* http://"):
        index_storage("host:19530", None, "a", True)
    with pytest.raises(AskonceError, match="no folder for the index"):
        MilvusWords(str(tmp_path / "no" / "x.db"), "words")
    for package in ("pymilvus", "milvus_lite"):
        with (
            monkeypatch.context() as patch,
            pytest.raises(
                MissingExtra, match=rf"needs '{package}': pip install .*askonce\[milvus\]"
            ),
        ):
            patch.setitem(sys.modules, package, None)
            MilvusWords(str(tmp_path / "x.db"), "words")


def test_a_milvus_that_is_not_there_is_reported_without_the_password():
    with pytest.raises(IndexUnavailable) as caught:
        MilvusWords("http://me:geheim@127.0.0.1:1", "words")
    assert "127.0.0.1:1" in str(caught.value) and "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)
