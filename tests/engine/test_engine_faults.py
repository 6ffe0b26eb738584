"""Indexes that are lost or cannot be written while an engine serves; a disk that is full."""

import shutil

import pytest

from askonce.archive import Archive
from askonce.engine import Engine
from askonce.errors import ArchiveUnavailable, AskonceError
from askonce.index.base import IndexDamaged
from askonce.types import Post


def made(folder):
    archive = Archive.open(folder, create=True)
    archive.write(Post(f"q{number}", title=f"brakes squeal {number}") for number in range(30))
    archive.write([Post("a1", body="oil them", kind="answer", parent="q1")])
    archive.close()
    return folder


def hit_ids(engine, text, k=3):
    return [hit.post.id for hit in engine.similar(text, k)]


@pytest.mark.parametrize("what", ["index", "index/lexical-questions"])
def test_a_lost_index_is_made_anew_while_the_old_one_answers(tmp_path, wait_for, what):
    folder = made(tmp_path / "a.askonce")
    with Engine.open(folder, background=True) as engine:
        shutil.rmtree(folder / what)
        assert engine.write([Post("new", title="zebra whistles")]).added == 1  # safe all the same

        def caught_up():
            assert len(hit_ids(engine, "brakes squeal")) == 3  # all the time
            return hit_ids(engine, "zebra") == ["new"]

        wait_for(caught_up, 60)
        assert engine.status().indexed == engine.status().change
    with Engine.open(folder) as engine:
        assert hit_ids(engine, "zebra") == ["new"]


def test_an_index_that_turns_out_broken_is_made_anew(tmp_path, wait_for):
    folder = made(tmp_path / "a.askonce")
    with Engine.open(folder, background=True) as engine:
        for path in (folder / "index" / "lexical-questions").glob("*.*"):
            with path.open("r+b") as stream:  # as long as it was: what is mapped stays mapped
                stream.write(bytes(path.stat().st_size))
        with pytest.raises(IndexDamaged, match="is broken"):
            hit_ids(engine, "brakes squeal")
        wait_for(lambda: not engine._manager._lost, 60)
        assert len(hit_ids(engine, "brakes squeal")) == 3


def test_lost_vectors_are_made_anew_while_bm25_serves(tmp_path, wait_for, leave_models):
    folder = made(tmp_path / "a.askonce")
    with Engine.open(folder) as engine:
        model = leave_models(engine.archive, folder)
    with Engine.open(folder, background=True) as engine:
        wait_for(lambda: engine.status().model == model, 60)
        shutil.rmtree(folder / "index" / f"vectors-questions-{model}")
        engine.write([Post("new", title="zebra whistles")])

        def served():
            hits = engine.similar("zebra", 3)  # never an error
            return any(hit.post.id == "new" and "vectors" in hit.stages for hit in hits)

        wait_for(served, 60)


def fill(path):
    """Take all the room there is."""
    with path.open("wb", buffering=0) as stream:
        for size in (2**16, 1):
            try:
                while stream.write(b"x" * size) == size:
                    pass
            except OSError:
                continue


def test_a_full_disk_is_reported_and_all_is_well_once_there_is_room(small_disk, wait_for):
    disk = small_disk("4m")
    folder = made(disk / "a.askonce")
    with Engine.open(folder, background=True) as engine:
        fill(disk / "filling")
        with pytest.raises(ArchiveUnavailable, match="full"):
            for number in range(100):  # a few may still fit where the last ones were
                engine.write([Post(f"new{number}", title="zebra whistles", body="w " * 9000)])
        assert len(hit_ids(engine, "brakes squeal")) == 3  # asking goes on
        retained = {f"new{n}" for n in range(number)}
        (disk / "filling").unlink()
        assert engine.write([Post("last", title="zebra sings")]).added == 1
        wait_for(lambda: {*hit_ids(engine, "zebra", 100)} == {*retained, "last"}, 60)
        assert {p.id for p in engine.archive.iterate() if p.id.startswith("new")} == retained


def test_an_import_on_a_full_disk_keeps_what_it_had_written(small_disk):
    disk = small_disk("4m")
    archive = Archive.open(disk / "a.askonce", create=True)
    fill(disk / "filling")
    with pytest.raises(AskonceError, match="archive 'a': database or disk is full"):
        archive.write([Post("1", title="x", body="w " * 400_000)])
    (disk / "filling").unlink()
    assert archive.write([Post("1", title="x")]).added == 1
    archive.close()
