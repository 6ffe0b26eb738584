"""Archives of older formats are upgraded in place, whole or not at all, with a backup."""

import multiprocessing
import os
import signal
import sqlite3
import tempfile
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, event, inspect, text
from sqlalchemy.engine import Engine

from askonce.archive import Archive, database, schema
from askonce.archive.store import Revision
from askonce.archive.tables import FORMAT, metadata
from askonce.errors import ArchiveUnavailable, AskonceError
from askonce.types import Link, Post

FORK = multiprocessing.get_context("fork")
# Each older format as its own version created it: {} stands for what PostgreSQL and SQLite spell
# differently (key column, big integer, collation).
TABLES = {
    1: """
CREATE TABLE state (one INTEGER NOT NULL, format INTEGER NOT NULL, change BIGINT NOT NULL,
    PRIMARY KEY (one));
CREATE TABLE posts (number {serial} NOT NULL, id TEXT{C} NOT NULL, kind TEXT{C} NOT NULL,
    parent TEXT{C}, title TEXT NOT NULL, body TEXT NOT NULL, html TEXT NOT NULL, score INTEGER,
    accepted BOOLEAN NOT NULL, tags TEXT NOT NULL, created TEXT, deleted BOOLEAN NOT NULL,
    change BIGINT NOT NULL, PRIMARY KEY (number), UNIQUE (id), UNIQUE (change));
CREATE INDEX ix_posts_parent ON posts (parent);
CREATE INDEX posts_by_kind ON posts (kind, deleted);
CREATE TABLE links (source TEXT{C} NOT NULL, target TEXT{C} NOT NULL, kind TEXT{C} NOT NULL,
    PRIMARY KEY (source, target, kind));
CREATE INDEX links_by_target ON links (target);
CREATE TABLE revisions (id TEXT{C} NOT NULL, change BIGINT NOT NULL, title TEXT NOT NULL,
    body TEXT NOT NULL, html TEXT NOT NULL, replaced TEXT NOT NULL, PRIMARY KEY (id, change));
""",
    2: """
CREATE TABLE state (one INTEGER NOT NULL, format INTEGER NOT NULL, change BIGINT NOT NULL,
    PRIMARY KEY (one));
CREATE TABLE posts (number {serial} NOT NULL, id TEXT{C} NOT NULL, kind TEXT{C} NOT NULL,
    parent TEXT{C}, title TEXT NOT NULL, body TEXT NOT NULL, html TEXT NOT NULL, score INTEGER,
    accepted BOOLEAN NOT NULL, tags TEXT NOT NULL, created TEXT, deleted BOOLEAN NOT NULL,
    change BIGINT NOT NULL, url TEXT, author TEXT, author_url TEXT, PRIMARY KEY (number),
    UNIQUE (id), UNIQUE (change));
CREATE INDEX ix_posts_parent ON posts (parent);
CREATE INDEX posts_by_kind ON posts (kind, deleted);
CREATE TABLE links (source TEXT{C} NOT NULL, target TEXT{C} NOT NULL, kind TEXT{C} NOT NULL,
    PRIMARY KEY (source, target, kind));
CREATE INDEX links_by_target ON links (target);
CREATE TABLE revisions (id TEXT{C} NOT NULL, change BIGINT NOT NULL, title TEXT NOT NULL,
    body TEXT NOT NULL, html TEXT NOT NULL, replaced TEXT NOT NULL, PRIMARY KEY (id, change));
""",
}
TABLES[3] = (
    TABLES[2].replace("author_url TEXT", "author_url TEXT, site TEXT, licence TEXT")
    + """
CREATE TABLE synced (source TEXT{C} NOT NULL, id TEXT{C} NOT NULL, seen BIGINT NOT NULL,
    PRIMARY KEY (source, id));
CREATE TABLE positions (name TEXT{C} NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name));
"""
)
ROWS = """
INSERT INTO state VALUES (1, {number}, 5);
INSERT INTO posts (id, kind, parent, title, body, html, score, accepted, tags, created,
    deleted, change) VALUES
('q', 'question', NULL, 'Why?', 'because', '', 3, false, '["a", "ö"]', '2021-01-17', false, 5),
('a', 'answer', 'q', '', 'so 🚲', '<p>so 🚲</p>', NULL, true, '[]', NULL, false, 2),
('p', 'question', NULL, 'Why not?', '', '', 0, false, '[]', NULL, false, 3),
('gone', 'question', NULL, '', '', '', NULL, false, '[]', NULL, true, 4);
INSERT INTO links VALUES ('p', 'q', 'duplicate'), ('p', 'q', 'related');
INSERT INTO revisions VALUES ('q', 5, 'Why', 'old', '<i>old</i>', '2022-02-02T00:00:00+00:00');
"""
SPELLINGS = {
    "sqlite": {"serial": "INTEGER", "C": ""},
    "postgresql": {"serial": "BIGSERIAL", "C": ' COLLATE "C"'},
}


def make_old(location, number=1):
    """An archive as the version that wrote this format left it."""
    if isinstance(location, str):
        engine = database.open_address(location)
    else:
        location.mkdir()
        engine = create_engine(f"sqlite:///{location / database.FILE}")
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        tables = TABLES[number].format(**SPELLINGS[engine.dialect.name])
        for statement in (tables + ROWS.replace("{number}", str(number))).split(";"):
            if statement.strip():
                connection.exec_driver_sql(statement)
    engine.dispose()
    return location


def format_of(location):
    with sqlite3.connect(location / database.FILE) as connection:
        (number,) = connection.execute("SELECT format FROM state").fetchone()
    connection.close()
    return number


def assert_complete(archive):
    assert list(archive.iterate(html=True)) == [
        Post("q", "Why?", "because", tags=("a", "ö"), score=3, created="2021-01-17"),
        Post("a", "", "so 🚲", "answer", "q", accepted=True, html="<p>so 🚲</p>"),
        Post("p", "Why not?", score=0),
    ]
    assert archive.links() == [Link("p", "q"), Link("p", "q", "related")]
    assert archive.revisions("q") == [
        Revision("Why", "old", "<i>old</i>", "2022-02-02T00:00:00+00:00")
    ]
    assert [(c.number, c.id) for c in archive.changes(0)] == [
        (2, "a"),
        (3, "p"),
        (4, "gone"),
        (5, "q"),
    ]
    assert archive.changes(3)[0].post is None
    assert archive.change == 5


def test_steps_are_numbered_up_to_the_present_format():
    steps = list(ScriptDirectory(str(schema.STEPS)).walk_revisions())
    assert [int(step.revision) for step in steps] == list(range(FORMAT, 0, -1))
    assert all(Path(step.path).name.startswith(f"{step.revision}_") for step in steps)
    assert set(TABLES) == set(range(1, FORMAT)), "add the tables of the format before to this test"


@pytest.mark.parametrize("number", TABLES)
def test_nothing_is_lost_and_the_tables_are_those_of_a_new_archive(new_place, number):
    location = make_old(new_place(), number)
    for _ in range(2):  # and the second time there is nothing to do
        archive = Archive.open(location)
        assert_complete(archive)
        archive.close()
    archive = Archive.open(location)
    new = Post("new", "t", url="https://x.example/1", author="Ada", site="x", licence="CC0")
    assert archive.write([new]).change == 6
    assert archive.post("new") == new
    with archive._engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, metadata) == []
    fresh = Archive.open(new_place(), create=True)
    for table in ("posts", "synced", "positions"):
        columns = inspect(archive._engine).get_columns(table)
        assert str(columns) == str(inspect(fresh._engine).get_columns(table))
    archive.close()
    fresh.close()


def test_the_backup_is_the_old_archive(tmp_path, caplog):
    folder = make_old(tmp_path / "x.askonce")
    (folder / database.FILE).chmod(0o640)
    Archive.open(folder).close()
    backup = folder / "archive.sqlite3.backup-1"
    assert sorted(path.name for path in folder.iterdir()) == ["archive.sqlite3", backup.name]
    assert backup.stat().st_mode & 0o777 == 0o640
    assert f"format 1 is backed up as {backup}" in caplog.text
    assert f"upgraded from format 1 to {FORMAT}" in caplog.text
    restored = tmp_path / "y.askonce"
    restored.mkdir()
    backup.rename(restored / database.FILE)
    assert format_of(restored) == 1
    archive = Archive.open(restored)
    assert_complete(archive)
    archive.close()


def test_an_import_into_an_old_archive_upgrades_it(new_place):
    archive = Archive.open(make_old(new_place()), create=True)
    assert_complete(archive)
    archive.close()


def test_openers_of_several_processes_wait_for_each_other(new_place):
    location = make_old(new_place())

    def work():
        assert_complete(Archive.open(location))

    openers = [FORK.Process(target=work) for _ in range(4)]
    for opener in openers:
        opener.start()
    for opener in openers:
        opener.join()
    assert [opener.exitcode for opener in openers] == [0] * 4


def test_threads_may_upgrade_different_archives(tmp_path):
    folders = [make_old(tmp_path / f"{n}.askonce") for n in range(4)]
    threads = [threading.Thread(target=lambda f=f: Archive.open(f).close()) for f in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [format_of(folder) for folder in folders] == [FORMAT] * 4


def test_a_wait_that_times_out_says_why(new_place, monkeypatch):
    location = make_old(new_place())
    is_folder = isinstance(location, Path)
    engine = database.open_file(location) if is_folder else database.open_address(location)
    with database.writing(engine) as connection:
        connection.execute(text("UPDATE state SET change = 6"))
        monkeypatch.setattr(database, "LOCK_TIMEOUT_MS", 100)
        message = f"format 1 to {FORMAT}: another process is writing"
        with pytest.raises(ArchiveUnavailable, match=message):
            Archive.open(location)
        connection.rollback()
    engine.dispose()
    archive = Archive.open(location)
    assert_complete(archive)
    archive.close()


STEP = """
from sqlalchemy import Column, Text
revision = "{0:04}"
down_revision = {1!r}
def upgrade(op):
    {2}
"""


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        ("raise RuntimeError('a fault of the step')", RuntimeError),
        ("op.execute('DELETE FROM links')", AskonceError),
        ("op.execute('SELECT * FROM nothing')", ArchiveUnavailable),
    ],
)
def test_a_step_that_fails_undoes_those_before_it(new_place, tmp_path, monkeypatch, broken, error):
    location = make_old(new_place())
    steps = tmp_path / "steps"
    (steps / "versions").mkdir(parents=True)
    sources = ["pass", "op.add_column('posts', Column('url', Text))", broken]
    for number, source in enumerate(sources, start=1):
        before = f"{number - 1:04}" if number > 1 else None
        step = steps / "versions" / f"{number:04}_step.py"
        step.write_text(STEP.format(number, before, source))
    with monkeypatch.context() as patched:
        patched.setattr(schema, "STEPS", steps)
        patched.setattr(schema, "FORMAT", 3)
        with pytest.raises(error):
            Archive.open(location)
    archive = Archive.open(location)  # by the real step, which adds the same column
    assert_complete(archive)
    archive.close()


def kill_at(point):
    """Kill this process when it does the so-manieth thing that touches the database or the disk."""
    left = point

    def count(*_, **__):
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in ("before_cursor_execute", "commit"):
        event.listen(Engine, name, count)

    def counted(function):
        def run(*arguments, **options):
            count()
            return function(*arguments, **options)

        return run

    for owner, name in ((os, "fsync"), (os, "open"), (Path, "replace"), (Path, "touch")):
        setattr(owner, name, counted(getattr(owner, name)))


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_any_moment_it_is_of_the_old_format_or_the_new(step, new_place):
    formats, point, finished = set(), 0, False
    while not finished:
        location = make_old(new_place())

        def work(location=location, point=point):
            kill_at(point)
            Archive.open(location)
            os._exit(0)

        process = FORK.Process(target=work)
        process.start()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        if isinstance(location, Path):
            formats.add(format_of(location))
            backup = location / "archive.sqlite3.backup-1"
            if backup.exists():  # whole, whenever it has its name
                with sqlite3.connect(backup) as connection:
                    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                    assert connection.execute("SELECT count(*) FROM posts").fetchone() == (4,)
                connection.close()
        archive = Archive.open(location)
        assert_complete(archive)
        archive.close()
        finished = process.exitcode == 0
        point += step if isinstance(location, Path) else 3 * step  # its transactions are its own
    assert point > 20
    assert formats in (set(), {1, FORMAT})


def test_a_full_disk_changes_nothing(small_disk):
    disk = small_disk("1m")
    folder, other, messages = make_old(disk / "x.askonce"), disk / "other", []
    for free in range(0, 400, 20):  # kilobytes
        space = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        other.write_bytes(b"x" * max(0, space - free * 1024))
        try:
            archive = Archive.open(folder)
        except ArchiveUnavailable as error:
            messages.append(str(error))
            assert not list(folder.glob("*.part"))
            other.unlink()
            assert format_of(folder) == 1
        else:
            break
    assert_complete(archive)
    archive.close()
    assert any("no backup at" in message for message in messages)


def test_a_read_only_folder_says_what_to_do():
    with tempfile.TemporaryDirectory() as base:
        folder = make_old(Path(base) / "x.askonce")
        with sqlite3.connect(folder / database.FILE) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        for path, mode in ((folder / database.FILE, 0o444), (folder, 0o555), (Path(base), 0o755)):
            path.chmod(mode)

        def work():
            if os.getuid() == 0:
                os.setuid(65534)
            with pytest.raises(AskonceError, match="read-only; open it once as a user who may"):
                Archive.open(folder)

        process = FORK.Process(target=work)
        process.start()
        process.join()
        folder.chmod(0o755)
        assert process.exitcode == 0
        assert format_of(folder) == 1
