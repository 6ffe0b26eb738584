"""Posts and links are read once, and again when they have changed, whoever changed them."""

import threading
from contextlib import closing
from dataclasses import replace

import pytest

from askonce.archive import Archive, cache
from askonce.archive.cache import PostCache
from askonce.types import Link, Post

ONE, TWO, THREE = Post("q1", "one", html="<b>one</b>"), Post("q2", "two"), Post("q3", "three")
ANSWER = Post("a1", body="an answer", kind="answer", parent="q1", accepted=True)


class Counted:
    """An archive that notes what is read from it."""

    def __init__(self, archive):
        self.archive, self.read = archive, []

    @property
    def change(self):
        return self.archive.change

    def changed_ids(self, after):
        return self.archive.changed_ids(after)

    def posts(self, ids, html=True):
        self.read.append(("posts", list(ids)))
        return self.archive.posts(ids, html)

    def answer_marks(self, ids):
        self.read.append(("answers", list(ids)))
        return self.archive.answer_marks(ids)

    def duplicates_of(self, ids):
        self.read.append(("duplicates", list(ids)))
        return self.archive.duplicates_of(ids)


@pytest.fixture
def archive(tmp_path):
    with closing(Archive.open(tmp_path / "forum", create=True)) as archive:
        archive.write([ONE, TWO, THREE, ANSWER], [Link("q2", "q1")])
        yield archive


@pytest.fixture
def counted(archive):
    return Counted(archive)


def test_each_post_is_read_once(counted):
    posts = PostCache(counted)
    posts.refresh()
    assert posts.posts(["q1", "none"]) == {"q1": ONE}
    assert posts.posts(["q2", "q1"]) == {"q2": TWO, "q1": ONE}
    posts.refresh()
    assert posts.titles(["q1", "q2"]) == {"q1": "one", "q2": "two"}
    assert counted.read == [("posts", ["q1", "none"]), ("posts", ["q2"])]


def test_answers_and_links_are_read_once_also_where_there_are_none(counted):
    posts = PostCache(counted)
    posts.refresh()
    for _ in range(2):
        assert posts.answer_marks(["q1", "q2"]) == {"q1": {"a1": True}}
        assert posts.duplicates_of(["q2", "q3"]) == {"q2": "q1"}
        assert posts.originals(["q2", "q3"]) == {"q2": "q1", "q3": "q3"}
    read = [("answers", ["q1", "q2"]), ("duplicates", ["q2", "q3"]), ("duplicates", ["q1"])]
    assert counted.read == read


@pytest.mark.parametrize("other_process", [False, True])
def test_changes_are_seen_after_a_refresh(counted, tmp_path, other_process):
    posts = PostCache(counted)
    posts.refresh()
    posts.posts(["q1", "q2", "q3"])
    assert posts.answer_marks(["q1"]) == {"q1": {"a1": True}}
    assert posts.originals(["q2"]) == {"q2": "q1"}
    counted.read.clear()
    writer = Archive.open(tmp_path / "forum") if other_process else counted.archive
    edited, moved = replace(TWO, title="other", score=3), replace(ANSWER, parent="q3")
    writer.write([edited, moved], [Link("q3", "q2")])
    writer.remove_links([Link("q2", "q1")])
    writer.delete(["q1"])
    if other_process:
        writer.close()
    posts.refresh()
    assert posts.posts(["q1", "q2", "q3"]) == {"q2": edited, "q3": THREE}
    assert posts.answer_marks(["q1", "q3"]) == {"q3": {"a1": True}}
    assert posts.originals(["q2", "q3"]) == {"q2": "q2", "q3": "q2"}
    assert ("posts", ["q1", "q2"]) in counted.read  # but not q3


def test_many_changes_and_an_older_archive_discard_everything(counted, monkeypatch):
    monkeypatch.setattr(cache, "MAX_CHANGES", 1)
    posts = PostCache(counted)
    posts.refresh()
    posts.posts(["q1", "q2", "q3"])
    counted.archive.write([replace(ONE, title="1"), replace(TWO, title="2")])
    posts.refresh()
    counted.read.clear()
    assert posts.titles(["q1", "q2", "q3"]) == {"q1": "1", "q2": "2", "q3": "three"}
    assert counted.read == [("posts", ["q1", "q2", "q3"])]
    with closing(Archive.in_memory()) as restored:  # fewer changes than before
        restored.write([replace(ONE, title="restored")])
        counted.archive = restored
        posts.refresh()
        assert posts.titles(["q1", "q2"]) == {"q1": "restored"}


def test_what_was_read_before_a_change_is_not_seen_after_it(counted):
    posts = PostCache(counted)
    posts.refresh()
    reading, changed = threading.Event(), threading.Event()
    read = counted.posts

    def slow_read(ids, html=True):
        old = read(ids, html)
        reading.set()
        assert changed.wait(30)
        return old

    counted.posts = slow_read
    query = threading.Thread(target=posts.titles, args=(["q2"],))
    query.start()
    assert reading.wait(30)
    counted.archive.write([replace(TWO, title="new")])
    posts.refresh()
    changed.set()
    query.join()
    counted.posts = read
    assert posts.titles(["q2"]) == {"q2": "new"}


def test_memory_is_bounded(counted, monkeypatch):
    monkeypatch.setattr(cache, "MAX_IDS", 1)
    posts = PostCache(counted, max_characters=8)
    posts.refresh()
    for _ in range(3):
        assert posts.titles(["q1", "q2", "q3"]) == {"q1": "one", "q2": "two", "q3": "three"}
        assert posts.answer_marks(["q1", "q2"]) == {"q1": {"a1": True}}
        contents = posts._contents
        held = sum(len(x.title) + len(x.body) + len(x.html) for x in contents.posts.values())
        assert contents.characters == held <= 8
        assert len(contents.answers) <= 2
    posts.posts(["q2", "q3"])
    assert sorted(posts._contents.posts) == ["q2", "q3"]
    counted.archive.write([replace(TWO, title="second")])
    posts.refresh()
    assert posts._contents.characters == len("three")
