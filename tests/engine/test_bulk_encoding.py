"""Vectors made in shards are those that the engine makes; a stopped run goes on where it was."""

import json
import shutil
from contextlib import closing
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from askonce.archive import Archive, open_archive
from askonce.engine import Engine
from askonce.engine.bulk import encoding as bulk_encoding
from askonce.engine.bulk.encoding import WORK, encode_archive
from askonce.engine.bulk.shards import Shard, ShardFolder, encode_shard, shards_between
from askonce.errors import AskonceError, NotAnEncoder
from askonce.files import Lock
from askonce.types import Post

QUESTIONS = ("my brakes squeal", "how do I true a wheel", "chain slips under load")


@pytest.fixture(scope="module")
def forum(tmp_path_factory, leave_models):
    """A folder with part of the built-in archive, edited, and models."""
    location = tmp_path_factory.mktemp("bulk") / "forum.askonce"
    with closing(open_archive("bicycles")) as source:
        posts = [*islice(source.iterate("question"), 60), *islice(source.iterate("answer"), 60)]
    with closing(Archive.open(location, create=True)) as archive:
        archive.write(posts)
        archive.write([Post("q-new", "question", "squealing brakes when wet")])
        archive.write([replace(posts[3], body="edited")])
        archive.delete([posts[5].id, posts[-1].id])
        leave_models(archive, location)
    return location


@pytest.fixture
def make(forum, tmp_path):
    """A function that copies the folder."""
    return lambda name: shutil.copytree(forum, tmp_path / f"{name}.askonce")


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """Shards of few changes, so that there are several."""
    monkeypatch.setattr(
        bulk_encoding, "shards_between", lambda start, end: shards_between(start, end, 40)
    )


class Here:
    """Encodes shards in this process; it may stop after some, as a killed run would."""

    def __init__(self, stop_after=None):
        self.encoded, self._stop_after = [], stop_after

    def __call__(self, location, kind, coder, shards):
        with closing(open_archive(location)) as archive:
            for shard in reversed(shards):  # the order must make no difference
                if len(self.encoded) == self._stop_after:
                    raise KeyboardInterrupt
                self.encoded.append((kind, shard))
                yield shard, encode_shard(archive, kind, coder, shard)


def silent(event):
    pass


def vectors(engine):
    """Keys by id, of both kinds."""
    actual = {}
    for search in (engine._manager.ready().question, engine._manager.ready().answer):
        index = search.vectors
        actual |= {name: index._snapshot.keys[row] for name, row in index._contents.rows.items()}
    return actual


def hits(engine):
    return [
        [hit.post.id for hit in engine.similar(text, 10, "vectors")]
        + [hit.post.id for hit in engine.answers(text, 10, "vectors")]
        for text in QUESTIONS
    ]


def test_vectors_made_in_shards_are_those_of_the_engine(make):
    plain, bulk = make("plain"), make("bulk")
    encode = Here()
    encode_archive(bulk, encode, silent)
    assert {kind for kind, _ in encode.encoded} == {"question", "answer"}
    with closing(Archive.open(bulk)) as archive:
        change = archive.change
    positions = [
        json.loads(path.read_text()) for path in bulk.glob("index/vectors-*/position.json")
    ]
    assert [actual["change"] for actual in positions] == [change, change]  # all is there
    with Engine.open(plain) as one, Engine.open(bulk) as other:
        expected, actual = vectors(one), vectors(other)
        assert expected.keys() == actual.keys()
        for name, key in expected.items():
            np.testing.assert_allclose(actual[name], key, rtol=1e-5, atol=1e-6)
        assert hits(one) == hits(other)
        assert one.status().indexed == other.status().indexed == one.archive.change
    assert not list((bulk / WORK).iterdir())  # nothing is left


def test_a_stopped_run_goes_on_and_what_changed_meanwhile_is_caught_up_with(make):
    plain, bulk = make("plain"), make("bulk")
    first = Here(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        encode_archive(bulk, first, silent)
    for location in (plain, bulk):
        archive = Archive.open(location)
        archive.write([Post("q-new", "question", "what was said anew")])
        archive.delete([next(archive.iterate("answer")).id])
        archive.close()
    second = Here()
    encode_archive(bulk, second, silent)
    whole = [shard for shard in first.encoded if shard[1].end - shard[1].start == 40]
    assert not set(whole) & set(second.encoded) and whole
    with Engine.open(plain) as one, Engine.open(bulk) as other:
        assert vectors(one).keys() == vectors(other).keys()
        assert hits(one) == hits(other)


def test_a_second_run_encodes_only_what_came_since(make):
    location = make("bulk")
    encode_archive(location, Here(), silent)
    archive = Archive.open(location)
    before = archive.change
    archive.write([Post("q-late", "question", "a late question")])
    archive.close()
    encode = Here()
    encode_archive(location, encode, silent)
    later = Shard(before, before + 1)
    assert encode.encoded == [("question", later), ("answer", later)]
    again = Here()
    encode_archive(location, again, silent)
    assert not again.encoded
    encode_archive(location, again, silent, rebuild=True)
    assert again.encoded


def test_it_refuses_what_it_cannot_do(make):
    location = make("bulk")
    lock = Lock(location / "index" / "lock")
    assert lock.acquire()
    with pytest.raises(AskonceError, match="belong to process"):
        encode_archive(location, Here(), silent)
    lock.release()
    with pytest.raises(NotAnEncoder, match="askonce train"):
        encode_archive("bicycles", Here(), silent)


def test_shards_cover_every_change_once():
    assert shards_between(0, 0) == []
    assert shards_between(3, 11, 4) == [Shard(3, 7), Shard(7, 11)]
    assert shards_between(3, 12, 4) == [Shard(3, 7), Shard(7, 11), Shard(11, 12)]


def test_a_damaged_shard_is_encoded_again(tmp_path):
    retained, shard = ShardFolder(tmp_path), Shard(0, 5)
    retained.write(shard, b"no zip file")
    assert retained.missing([shard]) == []
    with pytest.raises(AskonceError, match="run the command again"):
        list(retained.read([shard]))
    assert retained.missing([shard]) == [shard]


@pytest.mark.slow
def test_an_archive_on_postgresql_with_an_index_on_milvus(make, postgres, tmp_path):
    pytest.importorskip("milvus_lite", reason="milvus-lite is not installed")
    plain, address, folder = make("plain"), postgres.new(), tmp_path / "work"
    with (
        closing(Archive.open(plain)) as source,
        closing(Archive.open(address, create=True, folder=folder)) as archive,
    ):
        archive.write(source.iterate())
    shutil.copytree(plain / "models", folder / "models")
    index, encode = str(tmp_path / "posts.db"), Here()
    encode_archive(address, encode, silent, index=index, folder=folder)
    assert encode.encoded
    with Engine.open(plain) as one, Engine.open(address, index=index, folder=folder) as other:
        for text in QUESTIONS:
            expected = one.similar(text, 10, "vectors")
            actual = other.similar(text, 10, "vectors")
            assert [hit.post.id for hit in actual] == [hit.post.id for hit in expected]
