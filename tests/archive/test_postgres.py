"""What is special about an archive on PostgreSQL: it can be lost, shared, and has a password."""

import threading

import pytest

from askonce.archive import Archive, open_archive
from askonce.archive.database import without_password
from askonce.errors import ArchiveUnavailable, AskonceError
from askonce.types import Link, Post


def test_a_lost_server_is_reported_and_found_again(postgres):
    address = postgres.new()
    archive = Archive.open(address, create=True)
    archive.write([Post("q", "t")])
    postgres.stop()
    try:
        for work in (lambda: archive.post("q"), lambda: archive.write([Post("r", "t")])):
            with pytest.raises(ArchiveUnavailable, match=r"^archive 'postgres': ") as caught:
                work()
            assert "\n" not in str(caught.value) and "geheim" not in str(caught.value)
        with pytest.raises(ArchiveUnavailable):
            Archive.open(address)
    finally:
        postgres.start()
    assert archive.post("q") == Post("q", "t")  # what was acknowledged is there
    assert archive.write([Post("r", "t")]).change == 2
    archive.close()


def test_a_connection_that_died_is_replaced(postgres):
    archive = Archive.open(postgres.new(), create=True)
    postgres.stop()
    postgres.start()
    assert archive.change == 0
    archive.close()


def test_many_may_make_it_at_once(postgres):
    address, opened = postgres.new(), []

    def make():
        opened.append(Archive.open(address, create=True))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [archive.change for archive in opened] == [0] * 4
    for archive in opened:
        archive.close()


def test_a_turn_is_one_process_s_at_a_time(postgres):
    address = postgres.new()
    one, other = Archive.open(address, create=True), Archive.open(address)
    order = []

    def take():
        with other.turn("index"):
            order.append("other")

    thread = threading.Thread(target=take)
    with one.turn("index"), one.turn("another"):
        thread.start()
        thread.join(0.2)
        order.append("one")
    thread.join()
    assert order == ["one", "other"]
    one.close()
    other.close()


def test_ids_are_in_the_order_of_sqlite(postgres):
    names = ["a", "B", "b", "Z", "z", "é", "_", "1"]
    links = [Link(name, "to") for name in names] + [Link("a", "c"), Link("a", "B")]
    archives = [Archive.open(postgres.new(), create=True), Archive.in_memory()]
    for archive in archives:
        archive.write([Post(name, "t") for name in (*names, "to")], links)
    assert archives[0].links() == archives[1].links()
    assert archives[0].duplicates_of(["a"]) == archives[1].duplicates_of(["a"]) == {"a": "B"}
    for archive in archives:
        archive.close()


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:geheim@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me:ge:h/e@im@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me@host/db?password=geheim&x=1", "postgresql://me@host/db?password=***&x=1"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("a:b@c.askonce", "a:b@c.askonce"),
    ],
)
def test_a_password_is_not_shown(address, shown):
    assert without_password(address) == shown


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:geheim@127.0.0.1:1/db",
        "postgresql://me:geheim@127.0.0.1:nowhere/db",
        "postgresql://me:ge/heim@127.0.0.1/db",
        "postgresql://me:geheim@127.0.0.1",
        "mysql://me:geheim@127.0.0.1/db",
        "postgresql://127.0.0.1:1/db?password=geheim",
    ],
)
def test_an_error_tells_no_password(address):
    pytest.importorskip("psycopg")
    with pytest.raises(AskonceError) as caught:
        open_archive(address)
    assert "heim" not in str(caught.value)


def test_the_folder_beside_an_address(postgres, tmp_path):
    address = postgres.new()
    Archive.open(address, create=True).close()
    archive = open_archive(address, tmp_path / "work")
    assert archive.folder == tmp_path / "work" and not archive.folder.exists()
    archive.close()
    archive = open_archive(address)
    assert str(archive.folder) == f"{archive.name}.askonce"
    archive.close()
    Archive.open(tmp_path / "x.askonce", create=True).close()
    with pytest.raises(AskonceError, match=r"another archive; name a folder .* with --folder"):
        open_archive(address, tmp_path / "x.askonce")
    with pytest.raises(AskonceError, match="--folder is for an archive with an address"):
        open_archive(tmp_path / "x.askonce", tmp_path / "work")
