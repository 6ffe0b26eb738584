"""The engine with its indexes on Milvus: the same answers, changes, faults."""

import random
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest

from askonce.archive import Archive, open_archive
from askonce.engine import Engine
from askonce.errors import AskonceError
from askonce.types import Post

pytestmark = pytest.mark.skipif(
    not (find_spec("pymilvus") and find_spec("milvus_lite")),
    reason="pymilvus or milvus-lite is not installed",
)


@pytest.fixture
def folder(tmp_path):
    """A folder with the built-in archive."""
    source = open_archive("bicycles")
    archive = Archive.open(tmp_path / "bikes.askonce", create=True)
    archive.write(source.iterate(html=True), source.links())
    archive.close()
    source.close()
    return tmp_path / "bikes.askonce"


def ids(hits):
    return [hit.post.id for hit in hits]


@pytest.mark.slow
def test_it_answers_changes_and_catches_up_as_the_embedded_one(folder, tmp_path, leave_models):
    location = str(tmp_path / "index.db")
    asked = "how do I stop squealing disc brakes"
    with Engine.open(folder, index=location) as engine, Engine.open("bicycles") as memory:
        assert ids(engine.similar(asked, 2)) == ids(memory.similar(asked, 2))
        assert engine.status().posts == memory.status().posts
        leave_models(engine.archive, folder)
        assert engine.refresh_models()
        hit = engine.similar(asked, 1)[0]
        assert set(hit.stages) == {"bm25", "vectors", "pair"}
        assert engine.why(asked, hit.post.id).score
        engine.write([Post("new", title="zyxwv gearbox whistles")])
        for ranker in engine.rankers():
            assert "new" in ids(engine.similar("zyxwv gearbox", 3, ranker))
        engine.delete(["new"])
        for ranker in engine.rankers():
            assert "new" not in ids(engine.similar("zyxwv gearbox", 100, ranker))
        vectors = ids(engine.similar(asked, 10, "vectors"))
    assert not list((folder / "index").glob("*/"))  # nothing is in the folder
    with Engine.open(folder) as embedded:
        assert ids(embedded.similar(asked, 10, "vectors")) == vectors
    archive = Archive.open(folder)  # changes while no engine runs
    archive.write([Post("late", title="qqq rattle")])
    archive.delete(vectors[:1])
    archive.close()
    with Engine.open(folder, index=location) as engine:
        assert ids(engine.similar("qqq rattle", 1)) == ["late"]
        actual = ids(engine.similar(asked, 10, "vectors"))
        assert [name for name in actual if name != "late"][:9] == vectors[1:]


def test_a_collection_that_was_lost_is_made_anew(tmp_path, wait_for):
    folder, location = tmp_path / "a.askonce", str(tmp_path / "index.db")
    archive = Archive.open(folder, create=True)
    archive.write([Post(f"q{n}", title=f"squealing brakes {n}") for n in range(20)])
    archive.close()
    with Engine.open(folder, index=location, background=True) as engine:
        before = ids(engine.similar("squealing brakes", 2))
        engine._manager.clear()
        with pytest.raises(AskonceError, match="does not exist"):
            engine.similar("squealing brakes")
        engine.write([Post("new", title="zyxwv gearbox whistles")])  # it is safe all the same
        wait_for(lambda: ids(answers(engine, "zyxwv")) == ["new"], 60)
        assert ids(engine.similar("squealing brakes", 2)) == before
    with Engine.open(folder, index=location, rebuild=True) as engine:
        assert ids(engine.similar("squealing brakes", 2)) == before


def answers(engine, text):
    try:
        return engine.similar(text, 1)
    except AskonceError:
        return []


@pytest.mark.slow
def test_an_index_writer_that_was_killed_is_caught_up_with(tmp_path):
    folder, location = tmp_path / "a.askonce", str(tmp_path / "index.db")
    archive = Archive.open(folder, create=True)
    words = [f"word{n}" for n in range(500)]
    chosen = random.Random(1)
    posts = [Post(f"q{n}", title=" ".join(chosen.choices(words, k=8))) for n in range(3000)]
    archive.write(posts)
    command = [sys.executable, "-m", "askonce", "index", str(folder), "--index", location]
    for attempt in range(4):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not list(tmp_path.glob("index.db/**/wal_data*")) and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.4 * attempt)
        process.kill()
        process.wait()
        archive.delete([f"q{attempt}"])
        archive.write([Post(f"q{attempt + 10}", title=f"edited{attempt}")])
    count = archive.counts()["questions"]
    archive.close()
    with Engine.open(folder, index=location) as engine, Engine.open(folder) as embedded:
        assert engine.status().posts == embedded.status().posts == count == len(posts) - 4
        for attempt in range(4):
            assert ids(engine.similar(f"edited{attempt}")) == [f"q{attempt + 10}"]
        for post in posts[100:120]:
            assert engine.similar(post.title, 1)[0].post.id == post.id
