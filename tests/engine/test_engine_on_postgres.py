"""The engine over an archive on PostgreSQL: indexes and models here, posts there."""

import threading

import pytest

from askonce.archive import Archive
from askonce.engine import Engine
from askonce.engine.lifecycle.manager import POLL_SECONDS
from askonce.errors import ArchiveUnavailable, AskonceError
from askonce.types import Post

POSTS = [Post(f"q{n}", title=f"squealing brakes {n}", body="word " * (n % 5)) for n in range(30)]
POSTS += [Post(f"a{n}", body=f"oil brakes {n}", kind="answer", parent=f"q{n}") for n in range(30)]


@pytest.fixture
def address(postgres):
    """A database with a small archive."""
    location = postgres.new()
    archive = Archive.open(location, create=True)
    archive.write(POSTS)
    archive.close()
    return location


def ids(hits):
    return [hit.post.id for hit in hits]


def test_two_servers_share_one_truth(address, tmp_path, wait_for):
    in_memory = Engine(Archive.in_memory())
    in_memory.archive.write(POSTS)
    in_memory.start(background=False)
    with (
        Engine.open(address, folder=tmp_path / "one", background=True) as one,
        Engine.open(address, folder=tmp_path / "two", background=True) as two,
        in_memory as memory,
    ):
        for engine in (one, two):
            asked = "how do I oil squealing brakes"
            assert engine.similar(asked) == memory.similar(asked)
            assert engine.answers(asked) == memory.answers(asked)
        one.write([Post("new", title="zyxwv gearbox whistles")])
        assert ids(one.similar("zyxwv", 1)) == ["new"]
        wait_for(lambda: ids(two.similar("zyxwv", 1)) == ["new"], 60)
        two.delete(["new"])
        wait_for(lambda: ids(one.similar("zyxwv", 1)) == [], 60)
        with pytest.raises(AskonceError, match="belong to process"):
            Engine.open(address, folder=tmp_path / "one", exclusive=True)


class Polls:
    """Stands for the event that ends maintenance: lets it poll a number of times."""

    def __init__(self, count):
        self.count, self.waits = count, []

    def is_set(self):
        return len(self.waits) == self.count

    def wait(self, seconds):
        self.waits.append(seconds)


def test_one_poll_finds_what_another_server_wrote(address, tmp_path):
    with (
        Engine.open(address, folder=tmp_path / "one") as one,
        Engine.open(address, folder=tmp_path / "two") as two,
    ):
        for n in range(5):
            one.write([Post(f"new{n}", title=f"zyxwv{n} gearbox whistles")])
            assert ids(one.similar(f"zyxwv{n}", 1)) == [f"new{n}"]
            assert two.status().indexed < two.status().change
            polls = two._manager._stop = Polls(1)
            two._manager._maintain()
            assert two.status().indexed == two.status().change
            assert ids(two.similar(f"zyxwv{n}", 1)) == [f"new{n}"]
            assert polls.waits == [POLL_SECONDS]  # all that passes between two polls
        two._manager._stop = threading.Event()


def test_a_lost_database_is_reported_and_found_again(address, postgres, tmp_path, wait_for):
    reported = []
    with Engine.open(address, folder=tmp_path, background=True, on_event=reported.append) as engine:
        postgres.stop()
        try:
            for work in (
                lambda: engine.similar("brakes"),
                lambda: engine.write([Post("x", "t")]),
                engine.status,
            ):
                with pytest.raises(ArchiveUnavailable, match=r"^archive 'postgres'"):
                    work()
            wait_for(lambda: reported, 60)
        finally:
            postgres.start()
        assert engine.similar("brakes")
        engine.write([Post("x", title="zyxwv")])
        assert ids(engine.similar("zyxwv", 1)) == ["x"]
    assert "geheim" not in str(reported)


@pytest.mark.slow
def test_models_beside_it_serve(address, tmp_path, leave_models):
    with Engine.open(address, folder=tmp_path) as engine:
        name = leave_models(engine.archive, tmp_path)
        assert engine.refresh_models()
    with Engine.open(address, folder=tmp_path) as engine:
        assert engine.status().model == name
        assert set(engine.similar("squealing brakes", 1)[0].stages) == {"bm25", "vectors", "pair"}


def test_an_index_of_another_archive_is_made_anew(address, postgres, tmp_path):
    with Engine.open(address, folder=tmp_path) as engine:
        assert engine.similar("brakes")
    fresh = postgres.new()
    Archive.open(fresh, create=True).close()
    reported = []
    with Engine.open(fresh, folder=tmp_path, on_event=reported.append) as engine:
        assert engine.similar("brakes") == []
        engine.write([Post("x", title="squealing brakes")])
        assert ids(engine.similar("brakes")) == ["x"]
    assert any("rebuilding" in event.text for event in reported)
