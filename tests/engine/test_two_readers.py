"""One index, two readers: the student's vectors first, the teacher's in the background."""

import json
import shutil
import zlib
from collections import Counter
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from typer.testing import CliRunner

from askonce.archive import open_archive
from askonce.cli import app
from askonce.engine import Engine
from askonce.engine.bulk.encoding import encode_archive
from askonce.engine.bulk.shards import encode_shard
from askonce.engine.lifecycle import reading
from askonce.engine.lifecycle.reading import BackgroundReading
from askonce.errors import AskonceError
from askonce.index.readers import SHORT_WORDS
from askonce.key_encoders import SentenceKeys, two_readers
from askonce.ranking.manifest import current, new_folder, read_manifest, write_manifest
from askonce.ranking.stages import Query
from askonce.server.metrics import EngineState, Metrics
from askonce.types import Post
from tests.engine.two_readers import (
    TOPICS,
    UNREAD_WEIGHTS,
    WEIGHTS,
    Synonyms,
    make_archive,
    mrr,
    questions,
)

POSTS = 2 * TOPICS


@pytest.fixture
def teacher(monkeypatch, request):
    """The teacher of training and serving; it counts what it reads, in a cache of its own."""
    small = Synonyms(zlib.crc32(request.node.name.encode()))
    monkeypatch.setattr("askonce.teachers.teacher.SentenceTeacher", lambda source: small)
    return small


@pytest.fixture
def folder(tmp_path, teacher):
    return make_archive(tmp_path / "made.askonce", teacher)


def keys(engine):
    index = engine._manager.ready().question.vectors
    return {name: index._snapshot.keys[row] for name, row in index._contents.rows.items()}


def fused_weights(engine):
    """The weights that a search has now, of both stages."""
    with engine.searching("question") as search:
        return search.rank([Query("topic7")])[0].weights


def read_once(engine):
    return engine._manager._read_some()


def test_the_student_answers_until_the_teacher_is_warm(folder, teacher):
    with Engine.open(folder) as engine:
        coder, text = engine._manager.ready().question.vectors.coder, ["xtopic7 anew"]
        coder.postpone()
        np.testing.assert_array_equal(coder.query_keys(text), coder.fast.query_keys(text))
        coder.warm()
        np.testing.assert_array_equal(coder.query_keys(text), coder.slow.query_keys(text))


def test_a_server_warms_the_teacher_before_the_first_question(folder, teacher, wait_for):
    with Engine.open(folder, background=True):
        wait_for(lambda: "a word" in teacher.read, 60)
    with (
        closing(Engine(open_archive(folder), follows=True)) as other,
        Engine.open(folder) as engine,
    ):
        teacher.read.clear()
        engine.share()
        other.follow(engine.shared_state)
        assert "a word" in teacher.read


def test_a_process_that_follows_has_the_same_models_and_keys(folder, teacher):
    with (
        Engine.open(folder) as engine,
        closing(Engine(open_archive(folder), follows=True)) as other,
    ):
        engine.share()

        def follows():
            other.follow(engine.shared_state)
            theirs, own = keys(other), keys(engine)
            assert theirs.keys() == own.keys()
            assert all(np.array_equal(theirs[name], own[name]) for name in own)
            assert other.similar("topic7", 5) == engine.similar("topic7", 5)

        follows()
        while read_once(engine):
            follows()
        engine.write([Post("new", "how topic7 part9")])
        follows()
        models = folder / "models"
        shutil.copytree(
            models / engine.status().model, home := new_folder(folder), dirs_exist_ok=True
        )
        write_manifest(home, read_manifest(home))
        assert engine.refresh_models() and engine.status().model == home.name
        follows()
        assert other.status().model == home.name and other.read_only


def test_the_share_grows_and_quality_with_it(folder, teacher):
    with Engine.open(folder) as engine:
        assert engine.status().read == 0 and not teacher.read  # found at once, by the student
        assert engine.similar("topic7 part1", 1, "typed")[0].id == "q07"
        shares, quality, weights = [0.0], [mrr(engine)], [fused_weights(engine)]
        while read_once(engine):
            shares.append(engine.status().read)
            quality.append(mrr(engine))
            weights.append(fused_weights(engine))
    assert weights[0] == UNREAD_WEIGHTS and weights[-1] == WEIGHTS
    assert weights == sorted(weights, key=lambda one: one["vectors"])
    assert shares == sorted(shares) and shares[-1] == 1 and len(shares) == 1 + -(-POSTS // 32)
    assert quality[-1] > quality[0] + 0.2
    assert min(quality) >= quality[0] - 0.02  # with half of the posts read it is no worse
    posts = Counter(text for text in teacher.read if text.startswith("how"))
    assert len(posts) == POSTS and set(posts.values()) == {1}


def test_questions_and_answers_are_read_evenly(tmp_path, teacher):
    answers = [
        Post(f"{question.id} {n}", body=f"topic{n}", kind="answer", parent=question.id)
        for question in questions()
        for n in range(3)
    ]
    folder = make_archive(tmp_path / "both.askonce", teacher, answers)
    with Engine.open(folder) as engine:
        searches = engine._manager.ready()
        while read_once(engine):
            shares = [index.read_share() for index in searches.key_indexes()]
            batch = max(reading.BATCH / len(index) for index in searches.key_indexes())
            assert abs(shares[0] - shares[1]) <= batch, shares
        assert shares == [1, 1]


def test_a_restart_encodes_nothing_again(folder, teacher, tmp_path):
    with Engine.open(folder) as engine:
        read_once(engine)
        share = engine.status().read
        before = keys(engine)
        killed = shutil.copytree(folder, tmp_path / "killed.askonce")  # before anything is saved
    assert 0 < share < 1
    read = list(teacher.read)
    with Engine.open(folder) as engine:
        assert engine.status().read == share
        after = keys(engine)
        assert all((before[name] == after[name]).all() for name in before)
    with Engine.open(killed) as engine:  # the vectors are in the teacher's cache
        read_once(engine)
        assert engine.status().read == share
    assert teacher.read == read
    with Engine.open(folder) as engine:
        engine.read_all()
        assert engine.status().read == 1
    assert max(Counter(teacher.read).values()) == 1
    with Engine.open(folder, rebuild=True) as engine:
        assert engine.status().read == 1
    assert len(teacher.read) == POSTS


def test_a_post_that_changes_while_it_is_read_keeps_its_new_text(folder, teacher, monkeypatch):
    with Engine.open(folder) as engine:
        encode = teacher.encode

        def edits(texts, on_progress=None):
            monkeypatch.setattr(teacher, "encode", encode)
            engine.write([Post("q00", "quite another question")])
            engine.delete(["q00x"])
            return encode(texts)

        monkeypatch.setattr(teacher, "encode", edits)
        assert read_once(engine) == reading.BATCH - 2
        assert "q00" in engine._manager.ready().question.vectors.unread()
        assert engine.similar("quite another question", 1, "typed")[0].id == "q00"
        engine.read_all()
        assert engine.status().read == 1
        assert "q00x" not in keys(engine)
        expected = SentenceKeys(teacher).query_keys(["quite another question"])[0]
        np.testing.assert_allclose(keys(engine)["q00"], expected, atol=1e-3)


def test_the_student_reads_while_typing_and_what_is_long(folder, teacher):
    with Engine.open(folder) as engine:
        engine.suggest("topic3 part0")
        engine.similar("topic3 part0", ranker="typed")
        engine.similar("topic3 " * (SHORT_WORDS + 1))
        engine.write([Post("new", "how topic99 part1")])
        assert not teacher.read
        engine.similar("topic3 part0")
        assert teacher.read == ["topic3 part0"]
        assert "typed" in engine.rankers()


def test_a_typed_question_is_ranked_by_the_weights_for_typing(folder):
    home = current(folder)
    manifest = read_manifest(home)
    typed = replace(manifest.questions, unread_weights={}, typed_weights={"bm25": 1.0})
    write_manifest(home, replace(manifest, questions=typed))
    with Engine.open(folder) as engine:
        (by_words, *_), (by_both, *_) = engine.suggest("topic3"), engine.similar("topic3")
    assert by_words.stages.keys() == {"bm25"} and {"bm25", "vectors"} <= by_both.stages.keys()


def test_comparing_all_questions_reads_nothing_anew(folder, teacher):
    texts = ["how topic3 part0", "how topic4 part1"]
    with Engine.open(folder) as engine:
        coder = engine._manager.ready().question.vectors.coder
        np.testing.assert_array_equal(coder.quick_query_keys(texts), coder.fast.query_keys(texts))
        assert not teacher.read
        engine.read_all()
        read = len(teacher.read)
        np.testing.assert_array_equal(coder.quick_query_keys(texts), coder.slow.query_keys(texts))
        assert len(teacher.read) == read


def test_a_server_reads_in_the_background(folder, teacher, wait_for):
    engine = Engine(open_archive(str(folder)), reading=1.0)
    with engine:
        engine.start(background=True)
        wait_for(lambda: engine.status().read == 1, 20)
        engine.write([Post("new", "how topic99 part1")])
        wait_for(lambda: "how topic99 part1" in teacher.read, 20)


def test_it_can_be_turned_off(folder, teacher, wait_for):
    engine = Engine(open_archive(str(folder)), reading=0.0)
    with engine:
        engine.start(background=True)
        wait_for(lambda: engine.status().model, 20)
        assert engine.status().read == 0
        assert engine._manager._reading._thread is None


def test_it_rests_for_its_share_of_the_time():
    assert BackgroundReading(lambda: 1, 1.0).pause(3.0) == 0
    assert BackgroundReading(lambda: 1, 0.25).pause(1.0) == pytest.approx(3.0)


def test_metrics_and_info_show_the_share(folder, teacher):
    with Engine.open(folder) as engine:
        read_once(engine)
        shown = Metrics(EngineState(engine, ())).text().decode()
        assert f"askonce_read_share {reading.BATCH / POSTS}" in shown
    info = CliRunner().invoke(app, ["info", str(folder), "--json"])
    assert json.loads(info.stdout)["read"] == reading.BATCH / POSTS
    text = CliRunner().invoke(app, ["info", str(folder)]).stdout
    assert "40% of the posts read by the teacher" in text
    done = CliRunner().invoke(app, ["index", str(folder), "--read"])
    assert "100% read by the teacher" in done.stdout


def here(location, kind, coder, shards):
    archive = open_archive(location)
    for shard in shards:
        yield shard, encode_shard(archive, kind, coder, shard)
    archive.close()


def test_bulk_encoding_reads_what_only_the_student_has_read(folder, teacher):
    with Engine.open(folder) as engine:
        read_once(engine)
        engine.write([Post("q00", "quite another question")])
        engine.delete(["q01"])
    with closing(open_archive(str(folder))) as archive:
        archive.write([Post("late", "how topic98 part2")])
    encode_archive(folder, here, lambda event: None)
    with Engine.open(folder) as engine:
        assert engine.status().read == 1
        now = keys(engine)
        assert len(now) == POSTS and "q01" not in now
        posts = list(engine.archive.iterate("question"))
        expected = SentenceKeys(teacher).candidate_keys(posts)
        for post, key in zip(posts, expected, strict=True):
            np.testing.assert_allclose(now[post.id], key, atol=1e-3)
    assert max(Counter(teacher.read[:-POSTS]).values()) == 1


def test_a_slow_reader_without_a_teacher_is_refused():
    with pytest.raises(AskonceError, match=r"'starter-.*' has no teacher"):
        two_readers(SentenceKeys("starter"), SentenceKeys("starter"))


@pytest.mark.slow
@pytest.mark.skipif(
    not (find_spec("pymilvus") and find_spec("milvus_lite")),
    reason="pymilvus or milvus-lite is not installed",
)
def test_on_milvus(folder, teacher, tmp_path):
    address = str(tmp_path / "index.db")
    with Engine.open(folder, index=address) as engine:
        assert engine.status().read == 0
        before = mrr(engine)
        read_once(engine)
        assert engine.status().read == reading.BATCH / POSTS
    read = len(teacher.read)
    with Engine.open(folder, index=address) as engine:
        assert engine.status().read == reading.BATCH / POSTS
        assert len(teacher.read) == read
        engine.read_all()
        assert engine.status().read == 1
        assert mrr(engine) > before + 0.2
