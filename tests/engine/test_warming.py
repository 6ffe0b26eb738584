"""Posts are read before they are asked for: then a query reads nothing but the change number."""

import shutil
import threading
from contextlib import closing
from dataclasses import replace

import pytest

from askonce.archive import Archive
from askonce.engine import Engine
from askonce.engine.lifecycle import warming
from askonce.engine.lifecycle.warming import Warming
from askonce.errors import ArchiveUnavailable

QUESTION = "why does my rear tyre go flat"


@pytest.fixture(scope="module")
def modelled(indexed_bicycles, leave_models, tmp_path_factory):
    """A copy of the built-in archive with models, their indexes built."""
    folder = tmp_path_factory.mktemp("modelled") / indexed_bicycles.name
    shutil.copytree(indexed_bicycles, folder)
    with closing(Archive.open(folder)) as archive:
        leave_models(archive, folder)
    Engine.open(folder).close()
    return folder


@pytest.fixture
def engine(modelled, tmp_path):
    with Engine.open(shutil.copytree(modelled, tmp_path / modelled.name)) as engine:
        yield engine


def warm(engine):
    manager = engine._manager
    errors = []
    return Warming(engine.archive, manager.posts, manager.ready, errors.append), errors


def run(reader):
    """The sizes of the steps until there is nothing left to read."""
    return list(iter(reader.step, 0))


@pytest.fixture
def statements(monkeypatch):
    """The names of what is read from archives."""
    read = []

    def note(name, original):
        def noted(self, *args, **named):
            read.append(name)
            return original(self, *args, **named)

        monkeypatch.setattr(Archive, name, noted)

    for name in ("posts", "answer_marks", "duplicates_of", "titles"):
        note(name, getattr(Archive, name))
    return read


def test_a_first_question_reads_nothing_after_warming(engine, statements):
    with Engine.open(engine.archive.folder) as other:
        cold = other.ask(QUESTION)
    assert "posts" in statements
    reader, _ = warm(engine)
    assert sum(run(reader)) == engine.status().posts
    ranker = engine._manager.ready().question.pair
    assert len(ranker._token_ids) > 0
    statements.clear()
    assert engine.ask(QUESTION) == cold
    assert statements == []


def test_it_ends_and_begins_again_with_new_models(engine, leave_models):
    reader, _ = warm(engine)
    assert run(reader)
    assert run(reader) == []
    leave_models(engine.archive, engine.archive.folder)
    engine._manager.refresh_models()
    assert sum(run(reader)) == engine.status().posts


def test_it_reads_a_bounded_number_of_posts_the_newest_first(engine, monkeypatch):
    newest = engine.archive.newest_ids(40)
    assert newest == [post.id for post in engine.archive.iterate()][:-41:-1]
    monkeypatch.setattr(warming, "MAX_POSTS", 40)
    reader, _ = warm(engine)
    assert run(reader) == [32, 8]
    assert set(engine._manager.posts._contents.posts) == set(newest)


def test_it_reads_a_bounded_number_of_characters(engine, monkeypatch):
    monkeypatch.setattr(warming, "MAX_CHARACTERS", 100)
    reader, _ = warm(engine)
    assert run(reader) == [32]


def test_a_change_after_warming_is_shown(engine):
    reader, _ = warm(engine)
    run(reader)
    best = engine.similar(QUESTION)[0].post
    engine.write([replace(best, title=best.title + " (edited)")])
    titles = [hit.title for hit in engine.similar(QUESTION)]
    assert best.title + " (edited)" in titles


def test_an_archive_that_does_not_answer_is_tried_again(engine, monkeypatch):
    reader, errors = warm(engine)

    def lost(self, ids, html=True):
        raise ArchiveUnavailable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(Archive, "posts", lost)
        assert reader.step() == 0
    assert [str(error) for error in errors] == ["gone"]
    assert sum(run(reader)) == engine.status().posts


def test_nothing_is_read_while_nothing_serves(engine):
    reader = Warming(engine.archive, engine._manager.posts, lambda: None, pytest.fail)
    assert reader.step() == 0


def test_a_server_warms_in_the_background_and_stops(bicycles_folder, wait_for):
    with Engine.open(bicycles_folder, background=True) as engine:
        contents = engine._manager.posts
        wait_for(lambda: len(contents._contents.posts) == engine.status().posts, 30)
        assert "warming" in [thread.name for thread in threading.enumerate()]
    assert "warming" not in [thread.name for thread in threading.enumerate()]


def test_an_engine_can_do_without(bicycles_folder):
    with Engine(Archive.open(bicycles_folder), warms=False) as engine:
        engine.start(background=True)
        assert "warming" not in [thread.name for thread in threading.enumerate()]
