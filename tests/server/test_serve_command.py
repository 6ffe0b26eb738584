"""``askonce serve`` as a process: its first line, its errors, its end."""

import re
import signal
import socket
import subprocess
import sys

import pytest

from askonce.archive import Archive
from askonce.cli.archives import serve
from askonce.cli.archives.serving import run as serving
from askonce.engine.lifecycle.following import EngineEvent
from askonce.engine.workers import tuning
from askonce.errors import AskonceError
from askonce.server.listening import listen
from askonce.types import Post


def refused(run):
    """The one line of a server that does not start."""
    assert run.returncode == 2, run.stderr
    (line,) = run.stderr.strip().splitlines()
    return line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    location = tmp_path_factory.mktemp("served") / "small.askonce"
    archive = Archive.open(location, create=True)
    archive.write([Post("q1", "How do I patch a tube?"), Post("q2", "Which oil for my chain?")])
    archive.close()
    return location


def test_serves_at_once_keeps_what_is_written_and_drains_on_sigterm(
    folder, served, wait_until, askonce
):
    with served(folder) as (process, client):
        assert client.get("/healthz").status_code == 200
        wait_until(lambda: client.get("/readyz").status_code == 200)
        post = {"id": "q3", "title": "Zebrafish in the bottom bracket"}
        assert client.post("/api/posts", json=post).status_code == 201

        # a request whose body is still on its way when the signal comes
        host, port = client.base_url.host, client.base_url.port
        with socket.create_connection((host, port), timeout=20) as raw:
            body = b'{"title": "zebrafish"}'
            head = f"POST /api/duplicates HTTP/1.1\r\nhost: {host}\r\n"
            head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            raw.sendall(head.encode() + body[:5])
            wait_until(lambda: "askonce_in_flight 2.0" in client.get("/metrics").text)
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: not accepts(host, port))
            raw.sendall(body[5:])
            answer = b"".join(iter(lambda: raw.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200") and b'"q3"' in answer
        assert process.wait(20) == 0
        assert "Traceback" not in process.stderr.read()

    with served(folder) as (_, client):
        wait_until(lambda: client.get("/readyz").status_code == 200)
        actual = client.get("/api/similar", params={"q": "zebrafish"}).json()["similar"]
        assert [hit["id"] for hit in actual] == ["q3"]
        line = refused(askonce("serve", folder, "--port", 0))  # a second one on the same archive
        assert line.startswith("askonce: ") and "small" in line
        port = client.base_url.port
        assert refused(askonce("serve", "bicycles", "--port", port)) == (
            f"askonce: cannot listen on 127.0.0.1 port {port}: address already in use; "
            "choose another with --port"
        )


def test_ends_with_0_after_ctrl_c(folder, served, wait_until):
    with served(folder) as (process, client):
        wait_until(lambda: client.get("/readyz").status_code == 200)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert "Traceback" not in process.stderr.read()


def accepts(host, port):
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def test_without_a_key_a_token_for_writing_is_printed(served):
    post = {"id": "q3", "title": "Zebrafish in the bottom bracket"}
    with served("bicycles", key=None) as (process, client):
        line = process.stdout.readline()
        token = re.fullmatch(r"Token for writing .*: (\S+) \(set ASKONCE_API_KEY .*\)\n", line)[1]
        assert client.post("/api/posts", json=post).status_code == 401
        headers = {"authorization": f"Bearer {token}"}
        assert client.post("/api/posts", json=post, headers=headers).status_code in (201, 503)


def test_unauthenticated_writes_must_be_asked_for_and_contradict_a_key(served, monkeypatch, capsys):
    monkeypatch.delenv("ASKONCE_API_KEY", raising=False)
    keys, token = serving.make_keys(None, open_writes=True)
    assert keys.open_writes and token is None
    assert "anyone who can reach this server can change its posts" in capsys.readouterr().err
    monkeypatch.setenv("ASKONCE_API_KEY", "0123456789abcdef")
    assert serving.make_keys(None, open_writes=False)[1] is None
    with pytest.raises(AskonceError, match="remove that key or --allow-unauthenticated-writes"):
        serving.make_keys(None, open_writes=True)


def test_progress_is_printed_now_and_then_and_other_messages_always(capsys):
    now = [0.0]
    say = serving.Messages(clock=lambda: now[0])
    for number in range(0, 4000, 1000):
        say(EngineEvent("indexing questions", number, 4000))
    now[0] = 6.0
    say(EngineEvent("indexing questions", 4000, 4000))
    say(EngineEvent("indexing answers", 0, 9))
    say(EngineEvent("loading the encoder"))
    assert capsys.readouterr().err.splitlines() == [
        "indexing questions: 0 of 4,000",
        "indexing questions: 4,000 of 4,000",
        "indexing answers: 0 of 9",
        "loading the encoder",
    ]


def test_an_archive_that_is_not_there(tmp_path):
    with pytest.raises(AskonceError, match="no archive"):
        serve.serve([str(tmp_path / "none.askonce")], port=0)


def test_a_host_that_is_not_ours(monkeypatch):
    monkeypatch.setenv("ASKONCE_API_KEY", "0123456789abcdef")
    with pytest.raises(AskonceError, match=r"cannot listen on no\.such\.host\.invalid port 0"):
        serve.serve(["bicycles"], host="no.such.host.invalid", port=0)


def test_a_response_does_not_wait_for_an_acknowledgement():
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP  # what asyncio looks at


def test_the_server_starts_without_loading_torch():
    code = (
        "import sys, askonce.server, askonce.cli.archives.serve, uvicorn; "
        "print({'torch', 'sklearn', 'scipy', 'gensim'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_threads_keep_freed_memory_where_the_c_library_can(monkeypatch):
    options = {}

    class Glibc:
        def mallopt(self, option, size):
            options[option] = size
            return 1

    monkeypatch.setattr(tuning.ctypes, "CDLL", lambda name: Glibc())
    assert tuning.keep_freed_memory()
    assert options == tuning.MALLOC_OPTIONS
    monkeypatch.setattr(tuning.ctypes, "CDLL", lambda name: object())  # musl has no mallopt
    assert not tuning.keep_freed_memory()
