import multiprocessing
import os
import signal
import sqlite3
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.archive import Archive, store, tables, writing
from askonce.archive.rows import LONGEST_TEXT
from askonce.archive.writing import CHUNK
from askonce.errors import ArchiveUnavailable, AskonceError
from askonce.types import Link, Post

QUESTION = Post("q", "Why?", "because", tags=("a", "b"), score=3, created="2021-01-17T22:04:21Z")
PUBLISHED = replace(
    QUESTION,
    url="https://bikes.example/q",
    author="Ada, secret",
    author_url="https://bikes.example/users/ada",
    site="bikes.example",
    licence="CC BY-SA 4.0",
)
ANSWER = Post("a", body="so", kind="answer", parent="q", accepted=True, html="<p>so</p>")
FORK = multiprocessing.get_context("fork")


def questions(*names):
    return [Post(name, f"title of {name}") for name in names]


def store_links(archive, *pairs):
    """Links as versions stored them that accepted cycles."""
    rows = [{"source": a, "target": b, "kind": "duplicate"} for a, b in pairs if a != b]
    with archive._writing() as connection:
        for row in rows:
            connection.execute(tables.links.insert(), row)


def test_what_is_written_is_read_back(archive):
    assert archive.write([QUESTION, ANSWER])[:3] == (2, 0, 0)
    assert archive.posts(["q", "a", "none"]) == {"q": QUESTION, "a": ANSWER}
    assert archive.post("a") == ANSWER
    assert archive.posts(["a"], html=False) == {"a": replace(ANSWER, html="")}
    assert list(archive.iterate(html=True)) == [QUESTION, ANSWER]
    assert archive.kinds(["q", "a", "none"]) == {"q": "question", "a": "answer"}
    assert archive.answers_to(["q"]) == {"q": [ANSWER]}


def test_only_what_differs_counts_as_changed(archive):
    archive.write([QUESTION, ANSWER])
    before = archive.change
    assert archive.write([QUESTION, ANSWER]) == (0, 0, 2, before, 0)
    voted = replace(QUESTION, score=4)
    assert archive.write([voted, ANSWER]) == (0, 1, 1, before + 1, 0)
    assert archive.revisions("q") == []  # a vote is no edit
    assert archive.write([replace(voted, body="new")])[1] == 1
    assert [(r.title, r.body) for r in archive.revisions("q")] == [("Why?", "because")]
    assert archive.post("q").body == "new"


def test_where_a_post_came_from_is_kept(archive):
    archive.write([PUBLISHED])
    assert archive.post("q") == PUBLISHED
    assert archive.write([replace(PUBLISHED, author="Ada L.")]).changed == 1
    assert archive.revisions("q") == []


def test_indexes_follow_the_change_numbers(archive):
    archive.write(questions("p", "q", "r"))
    seen = archive.change
    assert [c.id for c in archive.changes(0)] == ["p", "q", "r"]
    assert archive.changes(seen) == []
    archive.write([Post("q", "other title")])
    archive.delete(["p"])
    first, second = archive.changes(seen)
    assert (first.id, first.post.title) == ("q", "other title")
    assert (second.id, second.kind, second.post) == ("p", "question", None)
    assert seen < first.number < second.number == archive.change
    assert [c.number for c in archive.changes(0, limit=2)] == [3, 4]


def test_a_deleted_question_takes_its_answers_links_and_history_along(archive):
    archive.write([QUESTION, ANSWER, *questions("p", "r")], [Link("p", "q"), Link("p", "r")])
    archive.write([replace(QUESTION, body="new")])
    assert set(archive.delete(["q", "unknown"])) == {"q", "a"}
    assert archive.posts(["q", "a"]) == {}
    assert archive.links() == [Link("p", "r")]
    assert archive.revisions("q") == []
    assert archive.counts()["questions"] == 2
    assert archive.delete(["q"]) == []
    assert archive.write([QUESTION]).changed == 1  # and it may come again
    assert archive.post("q") == QUESTION
    assert archive.answers_to(["q"]) == {}


def test_nothing_of_a_deleted_text_stays_in_the_rows(tmp_path):
    archive = Archive.open(tmp_path, create=True)
    archive.write([Post("q", "a secret title", "a secret body", html="<b>secret</b>")])
    archive.write([replace(PUBLISHED, title="a secret again")])
    archive.delete(["q"])
    archive.close()
    with sqlite3.connect(tmp_path / "archive.sqlite3") as connection:
        for table in ("posts", "revisions"):
            assert "secret" not in str(connection.execute(f"SELECT * FROM {table}").fetchall())


def test_originals_follow_chains_and_end_in_cycles(archive):
    names = "abcdexyz"
    archive.write(questions(*names), [Link("a", "b"), Link("b", "c"), Link("d", "e", "related")])
    store_links(archive, "xy", "yz", "zx")
    actual = archive.originals(list(names))
    assert [actual[name] for name in "abcde"] == ["c", "c", "c", "d", "e"]
    assert {actual[name] for name in "xyz"} == {"x", "y", "z"}
    assert actual == {name: end_of_chain(archive, name) for name in names}


def end_of_chain(archive, name):
    """One link after the other, to the first target of each; a cycle ends where it would close."""
    targets = {link.source: link.target for link in reversed(archive.links("duplicate"))}
    seen = [name]
    while targets.get(seen[-1], name) not in seen:
        seen.append(targets[seen[-1]])
    return seen[-1]


@given(st.sets(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=12))
def test_any_links_end_somewhere(pairs):
    archive = Archive.in_memory()
    archive.write(questions(*"abcdef"))
    store_links(archive, *pairs)
    ends = {name: end_of_chain(archive, name) for name in "abcdef"}
    assert archive.originals(list("abcdef")) == ends
    archive.close()


def test_links_are_kept_once_and_advance_the_change_number(archive):
    first = archive.write(questions("p", "q"), [Link("p", "q"), Link("p", "q")])
    assert (first.added, first.links_added, first.change) == (2, 1, 3)
    again = archive.write([], [Link("p", "q"), Link("p", "q", "related")])
    assert (again.added, again.links_added, again.change) == (0, 1, 4)
    assert archive.write([], [Link("p", "q")]).change == archive.change == 4
    assert archive.links() == [Link("p", "q"), Link("p", "q", "related")]


def test_a_removed_link_is_gone_and_advances_the_change_number(archive):
    archive.write(questions(*"pqr"), [Link("p", "q"), Link("p", "r"), Link("p", "q", "related")])
    before = archive.change
    unwanted = [Link("p", "q"), Link("p", "q"), Link("q", "p"), Link("p", "nobody")]
    assert archive.remove_links(unwanted) == [Link("p", "q")]
    assert archive.change == before + 1
    assert archive.links() == [Link("p", "q", "related"), Link("p", "r")]
    assert archive.remove_links(unwanted) == [] and archive.change == before + 1


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (Link("a", "a"), "'a' cannot be linked to itself"),
        (Link("a", "a", "related"), "'a' cannot be linked to itself"),
        (Link("b", "a"), "'b' cannot be a duplicate of 'a'"),
        (Link("d", "a"), "'d' cannot be a duplicate of 'a'"),
    ],
)
def test_a_circular_link_is_refused_with_all_that_is_written_beside_it(archive, link, message):
    archive.write(questions(*"abcd"), [Link("a", "b"), Link("b", "c"), Link("c", "d")])
    before = archive.change, archive.links()
    with pytest.raises(AskonceError, match=message):
        archive.write(questions("new"), [Link("new", "a"), link])
    assert (archive.change, archive.links()) == before and archive.post("new") is None


def test_related_questions_may_point_at_each_other(archive):
    archive.write(questions(*"ab"), [Link("a", "b"), Link("b", "a", "related")])
    assert len(archive.links()) == 2


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=14))
def test_no_links_that_are_added_ever_form_a_cycle(pairs):
    archive = Archive.in_memory()
    archive.write(questions(*"abcdef"))
    half = len(pairs) // 2
    wanted = [Link(a, b) for a, b in pairs]
    circular = [*archive.add_links(wanted[:half]).circular]
    circular += archive.add_links(wanted[half:]).circular
    targets = {}
    for link in archive.links():
        targets.setdefault(link.source, set()).add(link.target)
    assert len(list(TopologicalSorter(targets).static_order())) <= 6  # raises for a cycle
    for link in circular:  # each was refused for a reason that still holds
        graph = {name: set(ends) for name, ends in targets.items()}
        graph.setdefault(link.source, set()).add(link.target)
        with pytest.raises(CycleError):
            list(TopologicalSorter(graph).static_order())
    archive.close()


def test_counts_growth_and_what_is_unanswered(archive):
    other = Post("r", "late", created="2022-03-01")
    archive.write([QUESTION, ANSWER, other], [Link("r", "q")])
    counts = archive.counts()
    assert (counts["questions"], counts["answers"], counts["accepted"]) == (2, 1, 1)
    assert (counts["answered"], counts["duplicates"], counts["related"]) == (1, 1, 0)
    assert archive.growth() == [("2021-01", 1, 0), ("2022-03", 1, 0)]
    assert archive.newest(5, unanswered=True) == []  # its original is answered
    archive.remove_links(archive.links("duplicate"))
    assert archive.newest(5, unanswered=True) == [other]
    archive.write([replace(ANSWER, id="b", parent="nobody")])
    assert list(archive.snapshot().answers) == ["a"]  # training leaves such an answer out


@pytest.mark.parametrize(
    ("post", "message"),
    [
        (Post("", "t"), "id of 0 characters"),
        (Post("x" * 201, "t"), "id of 201"),
        (Post("x\n", "t"), "without control characters"),
        (Post(" x", "t"), "spaces around"),
        (Post("x"), "no text"),
        (Post("x", " \n"), "no text"),
        (Post("x", "t\0"), "title holds a NUL"),
        (Post("x", "t", "\ud800"), "body holds .* surrogate"),
        (Post("x", "t", "b" * (LONGEST_TEXT + 1)), "body of 1,000,001 characters"),
        (Post("x", "t", parent="q"), "a question has no parent"),
        (Post("x", "t", kind="answer"), "an answer needs 'parent'"),
        (Post("x", "t", kind="answer", parent="\ud800"), "parent without control"),
        (Post("x", "t", score=2**31), "a score of 10 digits"),
        (Post("x", "t", tags=("",)), "tags of 1 to"),
        (Post("x", "t", tags=("a",) * 101), "at most 100 tags"),
        (Post("x", "t", created="yesterday"), "'created' in ISO 8601, found 'yesterday'"),
        (Post("x", "t", author=""), "author of 0 characters"),
        (Post("x", "t", url="javascript:alert(1)"), "'url' to be an http or https address"),
        (Post("x", "t", site="a\nb"), "expected site without control characters"),
        (Post("x", "t", licence="x" * 201), "licence of 201 characters"),
        (Post("x", "t", author_url="https://" + "x" * 2000), "'author_url' .* at most 2000"),
        (Post("x", "t", url="https://[half"), "'url' to be an http or https address"),
    ],
)
def test_what_no_archive_can_hold_is_named_and_nothing_is_written(post, message):
    archive = Archive.in_memory()
    with pytest.raises(AskonceError, match=message):
        archive.write([QUESTION, post])
    assert archive.change == 0
    archive.close()


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_an_id_that_no_post_can_have_is_unknown(archive, name):
    archive.write([QUESTION])
    assert archive.post(name) is None and archive.kinds([name, "q"]) == {"q": "question"}
    assert archive.answers_to([name]) == {} and archive.delete([name]) == []


def test_an_id_keeps_its_kind(archive):
    archive.write([QUESTION])
    with pytest.raises(AskonceError, match="'q' is known as question, not answer"):
        archive.write([Post("new", "t"), replace(ANSWER, id="q", parent="new")])
    assert archive.post("new") is None


def test_texts_of_all_sizes_and_scripts_come_back(archive):
    texts = ["x" * LONGEST_TEXT, "日本語 🚲\n\ttab", "'; DROP TABLE posts; --", "\x85\u2028 é"]
    archive.write([Post(f"q{n}", text) for n, text in enumerate(texts)])
    assert [post.title for post in archive.iterate()] == texts


def test_more_ids_than_one_statement_takes(archive, monkeypatch):
    many = [str(n) for n in range(CHUNK)]
    assert archive.posts(many) == {} and archive.delete(many) == []  # so many it does take
    for module in (store, writing):
        monkeypatch.setattr(module, "CHUNK", 100)
    archive.write(Post(str(n), "t") for n in range(250))
    assert len(archive.posts(many[:1000])) == 250
    assert sum(1 for _ in archive.iterate()) == 250
    assert len(archive.delete(many[:1000])) == 250
    assert archive.counts()["questions"] == 0


def test_threads_share_an_archive(archive):
    failed = []

    def work(name):
        try:
            for n in range(20):
                archive.write([Post(f"{name}-{n}", "t")])
                assert f"{name}-{n}" in archive.posts([f"{name}-{n}"])
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert archive.counts()["questions"] == archive.change == 80


def test_a_missing_or_foreign_folder_is_named(tmp_path):
    with pytest.raises(AskonceError, match=r"no archive at .*make one with `askonce import"):
        Archive.open(tmp_path)
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(AskonceError, match="is not an archive and not empty"):
        Archive.open(tmp_path, create=True)
    with pytest.raises(AskonceError, match="cannot make the folder"):
        Archive.open(tmp_path / "letter.txt" / "x.askonce", create=True)
    (tmp_path / "archive.sqlite3").write_text("no database at all, but long enough " * 99)
    with pytest.raises(ArchiveUnavailable, match="not a database"):
        Archive.open(tmp_path)
    (tmp_path / "archive.sqlite3").write_bytes(b"")
    with pytest.raises(AskonceError, match="is not an archive"):
        Archive.open(tmp_path)


@pytest.mark.parametrize(("number", "advice"), [(99, "update askonce"), (0, "import its source")])
def test_another_format_is_named(tmp_path, number, advice):
    Archive.open(tmp_path, create=True).close()
    with sqlite3.connect(tmp_path / "archive.sqlite3") as connection:
        connection.execute("UPDATE state SET format = ?", (number,))
    with pytest.raises(
        AskonceError, match=f"has format {number}, this version reads {tables.FORMAT}; {advice}"
    ):
        Archive.open(tmp_path)


def without_rights(work):
    """Run it as a user whom the permissions of files bind, as they do not bind root."""

    def child():
        if os.getuid() == 0:
            os.setuid(65534)
        work()

    process = FORK.Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == 0


def test_a_read_only_folder_is_read_and_not_written():
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "x.askonce"
        archive = Archive.open(folder, create=True)
        archive.write([QUESTION])
        archive.close()
        for path, mode in ((folder / "archive.sqlite3", 0o444), (folder, 0o555)):
            path.chmod(mode)
        Path(base).chmod(0o755)

        def work():
            archive = Archive.open(folder)
            assert archive.post("q") == QUESTION
            with pytest.raises(ArchiveUnavailable, match="readonly"):
                archive.write([Post("x", "t")])
            with pytest.raises(AskonceError, match="cannot make the folder"):
                Archive.open(Path(base) / "new", create=True)

        without_rights(work)
        folder.chmod(0o755)


def add_many(location, name, count):
    archive = Archive.open(location)
    for n in range(count):
        archive.write([Post(f"{name}-{n}-{m}", "t") for m in range(1 + n % 3)])


def test_writers_of_two_processes_take_turns_and_a_reader_misses_nothing(new_place):
    location = new_place()
    archive = Archive.open(location, create=True)
    writers = [FORK.Process(target=add_many, args=(location, name, 40)) for name in "abc"]
    for writer in writers:
        writer.start()
    seen = []
    while any(writer.is_alive() for writer in writers) or archive.change > len(seen):
        seen += [change.number for change in archive.changes(len(seen))]
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert seen == list(range(1, 3 * 79 + 1))
    assert archive.counts()["questions"] == len(seen)
    archive.close()


def add_batches(location):
    archive = Archive.open(location)
    for batch in range(10_000):
        posts = [Post(f"{batch}-{n}", "t" * 200) for n in range(500)]
        archive.write(posts, [Link(posts[0].id, post.id) for post in posts[1:]])


def test_a_killed_writer_leaves_all_or_nothing(new_place):
    for attempt in range(3):
        location = new_place()
        archive = Archive.open(location, create=True)
        writer = FORK.Process(target=add_batches, args=(location,))
        writer.start()
        while archive.change < 1000:
            time.sleep(0.01)
        time.sleep(attempt * 0.013)
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        assert archive.write([Post("x", "t")]).added == 1  # after the dead writer's transaction
        counts = archive.counts()
        batches, rest = divmod(counts["questions"] - 1, 500)
        assert rest == 0
        assert counts["duplicates"] == batches * 499
        assert archive.change == counts["questions"] + counts["duplicates"]
        archive.close()


def test_a_change_number_that_cannot_be_read_is_an_error_of_one_line(tmp_path):
    with closing(Archive.open(tmp_path / "a.askonce", create=True)) as archive:
        with closing(sqlite3.connect(tmp_path / "a.askonce" / "archive.sqlite3")) as other:
            other.execute("ALTER TABLE state RENAME TO gone")
        with pytest.raises(ArchiveUnavailable, match="no such table: state") as caught:
            _ = archive.change
    assert "\n" not in str(caught.value)
