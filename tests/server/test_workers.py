"""``askonce serve --workers``: several processes answer, as one would."""

import json
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from askonce.cli.archives.serving.options import ArchiveOptions, ArchiveToServe
from askonce.cli.archives.serving.run import count_workers
from askonce.engine import Engine
from askonce.engine.workers.asking import AskOptions, find
from askonce.engine.workers.frames import Frame
from askonce.engine.workers.pool import SECRETS
from askonce.engine.workers.worker import Worker
from askonce.errors import AskonceError
from askonce.types import Post

QUESTIONS = ["rear tyre goes flat", "chain jumps uphill", "squealing disc brake", "winter gloves"]
ASK = AskOptions("ask", 5, "best")


def ask_worker(worker, engine, *questions, options=ASK, **more):
    state = engine.shared_state
    header = {"state": {"model": state.model, "indexes": state.indexes}, "edits": 0, **more}
    header |= {"ask": options.as_json(), "questions": list(questions)}
    message = Frame(header).pack()
    return worker.answer(Frame.unpack(message[8:], len(message) - 8))


def hits(response):
    return [[hit["id"] for hit in json.loads(part)] for part in response.parts()[::2]]


@pytest.fixture
def shared(bicycles_folder):
    """An engine that owns the indexes, and a worker beside it in the same process."""
    with Engine.open(bicycles_folder) as engine:
        engine.share()
        worker = Worker()
        assert worker.answer(Frame({"open": str(bicycles_folder), "folder": None})) == Frame({})
        yield engine, worker
        worker.close()


def test_a_worker_answers_as_the_server_does(shared):
    engine, worker = shared
    response = ask_worker(worker, engine, *QUESTIONS)
    found = find(engine, ASK, QUESTIONS)
    assert response.parts() == [part for one in found for part in (one.similar, one.answers)]
    assert response.header["flags"] == [[o.claimed, o.good, o.answered] for o in found]


def test_a_worker_finds_what_was_written_before_it_was_asked(shared):
    engine, worker = shared
    assert "new" not in hits(ask_worker(worker, engine, "zebrafish"))[0]
    engine.write([Post("new", title="Zebrafish in the bottom bracket")])
    assert hits(ask_worker(worker, engine, "zebrafish"))[0][:1] == ["new"]
    engine.delete(["new"])
    assert "new" not in hits(ask_worker(worker, engine, "zebrafish"))[0]


def test_a_worker_pins_what_the_operator_has_pinned(shared):
    engine, worker = shared
    first = hits(ask_worker(worker, engine, "winter gloves"))[0]
    engine.wording.set([], [{"question": "winter gloves", "posts": [first[-1]]}])
    edits = engine.wording.edits
    assert hits(ask_worker(worker, engine, "winter gloves", edits=edits))[0][0] == first[-1]


def test_a_worker_leaves_errors_to_the_server(shared):
    engine, worker = shared
    wrong = ask_worker(worker, engine, "brakes", options=AskOptions("similar", 5, "magic"))
    assert "no ranker 'magic'" in wrong.header["failed"]
    state = {"model": None, "indexes": []}
    assert "broken" in worker.answer(Frame({"state": state, "edits": 0})).header
    assert hits(ask_worker(worker, engine, "brakes"))[0]


def test_an_archive_that_others_cannot_open_has_one_process(tmp_path):
    here = ArchiveToServe("here", str(tmp_path), ArchiveOptions())
    assert count_workers(here, 3) == 3
    assert 1 <= count_workers(here, None) <= 4
    remote = ArchiveToServe("here", str(tmp_path), ArchiveOptions(index="posts.db"))
    for archive in (ArchiveToServe("bicycles", "bicycles", ArchiveOptions()), remote):
        assert count_workers(archive, None) == count_workers(archive, 1) == 1
        with pytest.raises(AskonceError, match="--workers needs an archive in a folder"):
            count_workers(archive, 2)


def test_a_worker_gets_no_secret():
    names = ("ASKONCE_API_KEY", "ASKONCE_READ_KEY", "ASKONCE_WEBHOOK_SECRET")
    assert all(SECRETS.fullmatch(name) for name in names)
    assert not any(SECRETS.fullmatch(name) for name in ("ASKONCE_CACHE", "PATH", "HOME"))


def metric(client, name):
    found = re.search(rf"^{name} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return float(found[1]) if found else None


def workers_of(process):
    tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(number) for path in tasks for number in path.read_text().split()]


def similar(client, q):
    response = client.get("/api/similar", params={"q": q})
    assert response.status_code == 200, response.text
    return [hit["id"] for hit in response.json()["similar"]]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds processes in /proc")
def test_workers_of_a_server(served, bicycles_folder, wait_until, tmp_path):
    """What is written is found in each process, also after one was killed; SIGTERM drains all."""
    with (
        (tmp_path / "log").open("w+") as log,
        served(bicycles_folder, "--workers", "2", errors=log) as (server, client),
    ):
        wait_until(lambda: metric(client, "askonce_workers") == 1)
        (worker,) = workers_of(server)
        for n in range(3):
            post = {"id": f"new{n}", "title": f"Zebrafish{n} in the bottom bracket"}
            assert client.post("/api/posts", json=post).status_code == 201
            assert similar(client, f"zebrafish{n}")[:1] == [f"new{n}"]
        assert metric(client, "askonce_worker_batches_total") == 3
        assert client.delete("/api/posts/new0").status_code == 200
        assert "new0" not in similar(client, "zebrafish0")

        with ThreadPoolExecutor(8) as clients:  # some of them while the worker is gone
            answers = [clients.submit(similar, client, f"zebrafish{1 + n % 2}") for n in range(12)]
            os.kill(worker, signal.SIGKILL)
            assert {tuple(answer.result()[:1]) for answer in answers} == {("new1",), ("new2",)}
        wait_until(lambda: metric(client, "askonce_workers") == 1 and workers_of(server))
        assert workers_of(server) != [worker]
        assert metric(client, "askonce_worker_restarts_total") == 1
        before = metric(client, "askonce_worker_batches_total")
        assert similar(client, "zebrafish2")[:1] == ["new2"]
        assert metric(client, "askonce_worker_batches_total") == before + 1

        mark = {"question": "zebrafish", "id": "new1", "mark": "same", "visitor": "v" * 32}
        statuses = [client.post("/api/feedback", json=mark).status_code for _ in range(12)]
        assert 429 in statuses  # one limit for all processes

        (worker,) = workers_of(server)
        os.kill(worker, signal.SIGTERM)  # as systemd sends it to all processes of a service
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        assert not Path(f"/proc/{worker}").exists()
        log.seek(0)
        assert "Traceback" not in (text := log.read()), text
