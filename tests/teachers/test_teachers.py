"""Teachers: the cache reads each text once, and a model over vectors is saved with its teacher."""

import socket
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from askonce.errors import AskonceError
from askonce.key_encoders import SentenceKeys
from askonce.ranker import Ranker
from askonce.teachers.cache import VectorCache, text_key
from askonce.teachers.lexicon import TeacherLexicon
from askonce.teachers.teacher import CachedTeacher, TeacherRecord, load_teacher
from askonce.training.cross_encoder import CrossEncoder, CrossSettings
from askonce.types import Pool, Post
from tests.teachers.small_teacher import SmallTeacher, small_teacher

TEXTS = ["brakes squeal", "a chain that jumps", "", "brakes squeal", "ünï cödé \ud800"]


def test_every_text_is_read_once_however_often_it_is_asked_for(tmp_path):
    cached, teacher = small_teacher(tmp_path)
    first = cached.encode(TEXTS)
    again = small_teacher(tmp_path)[0].encode(TEXTS[::-1])[::-1]
    assert sorted(teacher.read) == sorted(set(TEXTS))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first, SmallTeacher().encode(TEXTS), atol=1e-3)  # half precision
    assert first.dtype == np.float32 and len(cached.cache) == 4


def test_progress_counts_what_is_new(tmp_path, monkeypatch):
    monkeypatch.setattr("askonce.teachers.cache.SAVED", 2)
    cached, _ = small_teacher(tmp_path)
    cached.encode(["one"])
    seen = []
    cached.encode(["one", "two", "three", "four"], lambda done, total: seen.append((done, total)))
    assert seen == [(2, 3), (3, 3)]
    assert cached.unread(["one", "two", "five", "six"]) == ["five", "six"]
    assert cached.unread(["one", "six", "two", "five", "six"]) == ["six", "five"]


def test_what_was_read_before_an_interruption_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("askonce.teachers.cache.SAVED", 1)
    cached, teacher = small_teacher(tmp_path)

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached.encode(["a", "bb", "ccc"], stop)
    cached.encode(["a", "bb", "ccc"])
    assert teacher.read == ["ccc", "bb", "a"]


def test_a_damaged_vector_is_read_again(tmp_path):
    cached, teacher = small_teacher(tmp_path)
    good = cached.encode(["one"])
    with sqlite3.connect(cached.cache.path) as database:
        database.execute("UPDATE vectors SET vector = x'00'")
    np.testing.assert_array_equal(cached.encode(["one"]), good)
    assert teacher.read == ["one", "one"]


def test_a_file_that_is_no_database_is_one_clear_line(tmp_path):
    (tmp_path / "vectors-small.sqlite").write_bytes(b"no database, but a long file" * 99)
    with pytest.raises(AskonceError, match=r"cannot open the vector cache .* remove the file"):
        VectorCache("small", 8, tmp_path)


def test_two_processes_share_the_file(tmp_path):
    script = (
        "import sys; from pathlib import Path; import numpy as np;"
        "from askonce.teachers.cache import VectorCache, text_key;"
        "cache = VectorCache('small', 4, Path(sys.argv[1]));"
        "[cache.put([text_key(f'{sys.argv[2]}-{i}')], np.full((1, 4), i)) for i in range(100)]"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script, tmp_path, name]) for name in ("a", "b")
    ]
    assert [process.wait() for process in running] == [0, 0]
    cache = VectorCache("small", 4, tmp_path)
    assert len(cache) == 200
    assert cache.get([text_key("b-7")])[text_key("b-7")].tolist() == [7] * 4


def test_other_weights_than_those_learnt_from_are_refused(tmp_path):
    record = TeacherRecord("small", "small-8-1", 8)
    cached = CachedTeacher(lambda: SmallTeacher(8, salt=2), record, tmp_path)
    with pytest.raises(AskonceError, match=r"other weights .*small-8-2, not small-8-1"):
        cached.encode(["one"])


@pytest.fixture
def ranker(tmp_path) -> Ranker:
    lexicon = TeacherLexicon(teacher=small_teacher(tmp_path)[0])
    return Ranker.create("adapter", lexicon, np.zeros((2, 1), np.float32), {"dim": 8, "sides": 2})


def test_an_untrained_adapter_is_its_teacher(ranker):
    vectors = ranker.encode(TEXTS)
    np.testing.assert_allclose(vectors, ranker.lexicon.teacher.encode(TEXTS), atol=1e-6)
    pool = Pool(
        Post("q", title="brakes"), (Post("a", body=TEXTS[0]), Post("b", body=TEXTS[1])), (1, 0)
    )
    (scores,) = ranker.score_pools([pool])
    expected = [ranker.predict(("brakes", text)) for text in TEXTS[:2]]
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_a_saved_adapter_needs_no_weights_for_cached_texts(ranker, tmp_path, monkeypatch):
    ranker.lexicon.teacher.encode(TEXTS)
    expected = ranker.encode(TEXTS)
    ranker.save(tmp_path / "saved")
    monkeypatch.setenv("ASKONCE_CACHE", str(tmp_path))
    loaded = Ranker.load(tmp_path / "saved")
    np.testing.assert_allclose(loaded.encode(TEXTS), expected, atol=1e-6)
    with pytest.raises(AskonceError, match="no sentence-transformers model 'small'"):
        loaded.encode("a text that nobody has read")


def test_a_missing_teacher_is_not_looked_for_on_the_network(monkeypatch):
    pytest.importorskip("sentence_transformers")  # which reads HF_HUB_OFFLINE when it is imported
    hosts: list[object] = []
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *name, **_: hosts.append(name) or [])
    for load in (load_teacher, lambda name: CrossEncoder.load(name, CrossSettings(), "a test")):
        with pytest.raises(AskonceError, match="'nobody/has-this'"):
            load("nobody/has-this")
    assert not hosts


def test_sides_differ_once_trained(ranker):
    import torch

    with torch.no_grad():
        ranker.model.bends[1].linear.weight.mul_(-1)
    question, answer = ranker.encode_query(["brakes"]), ranker.encode_document(["brakes"])
    np.testing.assert_allclose(question, -answer, atol=1e-6)


def test_hyperbolic_keys_order_as_the_distance(tmp_path):
    import torch

    lexicon = TeacherLexicon(teacher=small_teacher(tmp_path)[0])
    options = {"dim": 8, "space": "hyperbolic"}
    ranker = Ranker.create("adapter", lexicon, np.zeros((2, 1), np.float32), options)
    with torch.no_grad():
        ranker.model.bends[0].linear.weight.add_(0.3 * torch.randn(8, 8))
    words = [f"word{n} word{n % 7}" for n in range(40)]
    query = ranker.encode("word3 word5", convert_to_tensor=True)
    candidates = ranker.encode_document(words, convert_to_tensor=True)
    encoder = ranker.encoder
    by_key = encoder.candidate_key(candidates) @ encoder.query_key(query)
    by_distance = encoder.similarity(query, candidates)
    assert by_key.argsort().tolist() == by_distance.argsort().tolist()


def test_users_queries_do_not_grow_the_cache(ranker):
    teacher = ranker.lexicon.teacher
    ranker.encode_document([Post("a", body="a post of the archive")])
    assert len(teacher.cache) == 1
    ranker.encode_query(["what a user asks", "a post of the archive"])
    SentenceKeys(teacher).query_keys(["another question"])
    assert len(teacher.cache) == 1
