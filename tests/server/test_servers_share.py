"""Several ``askonce serve`` with one archive on PostgreSQL, or one index on Milvus."""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from askonce.archive import Archive, open_archive
from askonce.engine.lifecycle.manager import POLL_SECONDS

pytestmark = pytest.mark.slow


@pytest.fixture
def address(postgres):
    location, source = postgres.new(), open_archive("bicycles")
    archive = Archive.open(location, create=True)
    archive.write(source.iterate(html=True), source.links())
    archive.close()
    source.close()
    return location


def ready(client):
    return client.get("/readyz").status_code == 200


def hit_ids(client, q):
    response = client.get("/api/similar", params={"q": q})
    assert response.status_code == 200, response.text
    return [hit["id"] for hit in response.json()["similar"]]


def seconds_until(happened, limit=60):
    start = time.monotonic()
    while not happened():
        assert time.monotonic() - start < limit, "waited in vain"
        time.sleep(0.01)
    return time.monotonic() - start


def unavailable(response):
    reported = response.json()["error"]
    return response.status_code == 503 and response.headers["retry-after"] == "1" and reported


def test_two_servers_on_one_database(address, postgres, served, wait_until, tmp_path):
    with (tmp_path / "log").open("w+") as log:
        with (
            served(address, "--folder", tmp_path / "one", errors=log) as (one, first),
            served(address, "--folder", tmp_path / "two", errors=log) as (_, second),
        ):
            wait_until(lambda: ready(first) and ready(second))
            for n in range(5):
                post = {"id": f"new{n}", "title": f"Zebrafish{n} in the bottom bracket"}
                assert first.post("/api/posts", json=post).status_code == 201
                query = f"zebrafish{n}"
                assert hit_ids(first, query)[:1] == [f"new{n}"]
                # one poll is enough: tests/engine/test_engine_on_postgres.py counts them
                wait_until(lambda q=query: f"new{q[-1]}" in hit_ids(second, q)[:1])
            assert POLL_SECONDS <= 0.5  # so that an idle machine needs less than a second

            one.kill()  # -9
            one.wait()
            assert hit_ids(second, "zebrafish3")[:1] == ["new3"]
            post = {"id": "after", "title": "Okapi in the saddle bag"}
            assert second.post("/api/posts", json=post).status_code == 201
            assert hit_ids(second, "okapi")[:1] == ["after"]

            with served(address, "--folder", tmp_path / "one", errors=log) as (_, first):
                wait_until(lambda: ready(first))
                assert hit_ids(first, "okapi")[:1] == ["after"]
                postgres.stop()
                try:
                    for client in (first, second):
                        wait_until(lambda c=client: not ready(c))
                        ask = client.get("/api/similar", params={"q": "okapi"})
                        write = client.post("/api/posts", json={"title": "lost"})
                        assert unavailable(ask) and unavailable(write)
                        assert "geheim" not in ask.text + write.text
                        assert client.get("/healthz").status_code == 200
                finally:
                    postgres.start()
                for client in (first, second):
                    wait_until(lambda c=client: ready(c))
                    assert hit_ids(client, "okapi")[:1] == ["after"]
        log.seek(0)
        text = log.read()
    assert "geheim" not in text and "Traceback" not in text, text


class MilvusServer:
    """milvus-lite behind a port, as a server in a process of its own."""

    CODE = "import sys; from milvus_lite.adapter.grpc.server import run_server; "
    CODE += "run_server(sys.argv[1], '127.0.0.1', int(sys.argv[2]))"

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._folder, self.address = folder, f"http://127.0.0.1:{self._port}"

    def start(self):
        command = [sys.executable, "-c", self.CODE, str(self._folder), str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        seconds_until(self._listens)

    def stop(self):
        self._process.kill()
        self._process.wait()

    def _listens(self):
        try:
            socket.create_connection(("127.0.0.1", self._port), 1).close()
        except OSError:
            return False
        return True


@pytest.fixture
def milvus(tmp_path):
    pytest.importorskip("pymilvus", reason="pymilvus is not installed")
    pytest.importorskip("milvus_lite", reason="milvus-lite is not installed")
    server = MilvusServer(tmp_path / "milvus")
    server.start()
    yield server
    server.stop()


def test_two_servers_on_one_database_and_one_milvus(address, milvus, served, wait_until, tmp_path):
    with (tmp_path / "log").open("w+") as log:
        options = ("--index", milvus.address)
        with (
            served(address, *options, "--folder", tmp_path / "one", errors=log) as (one, first),
            served(address, *options, "--folder", tmp_path / "two", errors=log) as (_, second),
        ):
            wait_until(lambda: ready(first) and ready(second), 60)
            post = {"id": "new", "title": "Zebrafish in the bottom bracket"}
            assert first.post("/api/posts", json=post).status_code == 201
            assert hit_ids(first, "zebrafish") == ["new"]
            took = seconds_until(lambda: hit_ids(second, "zebrafish") == ["new"])
            record(f"with Milvus, after {took:.2f} s")
            one.kill()
            one.wait()
            assert second.delete("/api/posts/new").status_code == 200
            assert hit_ids(second, "zebrafish") == []

            milvus.stop()
            start = time.monotonic()
            ask = second.get("/api/similar", params={"q": "brakes"})
            record(f"a lost Milvus was told after {time.monotonic() - start:.2f} s")
            assert unavailable(ask) and "127.0.0.1" in ask.text
            # what is written is safe meanwhile, and found when it is back
            assert second.post("/api/posts", json=post).status_code == 201
            milvus.start()
            took = seconds_until(
                lambda: second.get("/api/similar", params={"q": "zebrafish"}).status_code == 200
            )
            record(f"and found again {took:.2f} s after it was back")
            wait_until(lambda: hit_ids(second, "zebrafish") == ["new"])
        log.seek(0)
        text = log.read()
    assert "Traceback" not in text, text


def record(text):
    """Shown by ``pytest -s``."""
    sys.stdout.write(json.dumps(text) + "\n")
