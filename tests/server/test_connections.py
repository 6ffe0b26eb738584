"""Connections that stay silent, send their headers slowly or read nothing."""

import asyncio
import logging
import re
import resource
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.server import ServerSettings
from askonce.server.guard.connections import ConnectionSettings, OpenConnections
from askonce.server.guard.logs import OncePerMinute
from askonce.server.protocol import JoiningTransport

HALF = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: "
FEW = ConnectionSettings(total=5, per_address=3)


@pytest.fixture
def many_files():
    """As many open files as this process may have."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    if before[1] < 1200:
        pytest.skip("too few open files for 1,000 sockets")
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("start", [b"", HALF])
def test_a_thousand_silent_sockets_do_not_stop_a_server_with_256_files(
    start, many_files, served, wait_until, tmp_path
):
    few = ["prlimit", "--nofile=256:256"]
    with (
        (tmp_path / "log").open("w") as log,
        served("bicycles", errors=log, before=few) as (
            process,
            client,
        ),
    ):
        address = (client.base_url.host, client.base_url.port)
        wait_until(lambda: client.get("/readyz").status_code == 200)
        with ExitStack() as stack:  # how long each answer takes: benchmarks/load.py --compare
            for _ in range(20):
                for _ in range(50):
                    silent = stack.enter_context(socket.create_connection(address, timeout=20))
                    silent.sendall(start)
                assert asked_anew(client, "/healthz").status_code == 200
                assert len(list(Path(f"/proc/{process.pid}/fd").iterdir())) < 256
            assert asked_anew(client, "/api/rankers").status_code == 200
    written = (tmp_path / "log").read_text()
    assert "Traceback" not in written and len(written) < 4000
    assert written.count("closing the longest silent") == 1


def asked_anew(client, path):
    """The answer over a connection of its own."""
    with httpx.Client(base_url=client.base_url, timeout=30, verify=False) as other:
        return other.get(path)


def test_half_sent_headers_are_cut_off_whatever_trickles_in(bicycles, running_server):
    limits = ConnectionSettings(header_seconds=0.3)
    with running_server(bicycles, ServerSettings(), limits) as client:
        address = (client.base_url.host, client.base_url.port)
        whole = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
        for first in (b"", HALF, whole + HALF):
            with socket.create_connection(address, timeout=20) as slow:
                slow.sendall(first)
                if first.startswith(whole):
                    assert slow.recv(65536).startswith(b"HTTP/1.1 200")
                slow.setblocking(False)
                end = time.monotonic() + 20
                while not closed(slow) and time.monotonic() < end:
                    time.sleep(0.02)
                assert closed(slow)
        assert client.get("/healthz").status_code == 200


def closed(connection):
    try:
        connection.send(b"a")  # one more byte of a header
        return connection.recv(65536) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_a_request_under_way_is_not_cut_off(bicycles, running_server):
    limits = ConnectionSettings(header_seconds=0.2)
    with running_server(bicycles, ServerSettings(), limits) as client:
        address = (client.base_url.host, client.base_url.port)
        body = b'{"title": "brakes"}'
        head = b"POST /api/duplicates HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
        head += b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        with socket.create_connection(address, timeout=20) as slow:
            slow.sendall(head + body[:3])
            time.sleep(0.5)  # longer than headers may take
            slow.sendall(body[3:])
            answer = b"".join(iter(lambda: slow.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200")


def test_who_reads_nothing_is_cut_off(bicycles, running_server, wait_until):
    limits = ConnectionSettings(stall_seconds=0.3)
    with running_server(bicycles, ServerSettings(), limits) as client:
        address = (client.base_url.host, client.base_url.port)
        request = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n"
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.settimeout(20)
            slow.connect(address)
            slow.sendall(400 * request)  # responses of some 20 MB, more than any buffer
            wait_until(lambda: refuses(slow))
        assert client.get("/healthz").status_code == 200


def refuses(connection):
    try:
        connection.send(b"G")
    except OSError:
        return True
    return False


GET = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
CHUNKED = (
    b"POST /api/duplicates HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
MALFORMED = b'{"error":{"type":"bad_request","message":"this is not a valid HTTP'


def exchanged(client, sent):
    """What comes back until the server closes the connection; it may do so before all is sent."""
    with socket.create_connection((client.base_url.host, client.base_url.port), 20) as raw:
        with suppress(ConnectionError):
            raw.sendall(sent)
        return b"".join(iter(lambda: raw.recv(65536), b""))


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET / HTTP/9\r\n\r\n",
        b"GET / HTTP/2.0\r\nhost: localhost\r\n\r\n",
        b"\r\n!\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",  # no host
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n",
        b"GET /\xc3\xa9 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nbad header: 1\r\n\r\n",
        CHUNKED.replace(b"\r\n\r\n", b"\r\ncontent-length: 4\r\n\r\n") + b"0\r\n\r\n",
        CHUNKED + b"zz\r\n",
        HALF + b"a" * 140_000,
        b"GET /" + b"a" * 140_000,
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + 20_000 * b"x: yyyy\r\n",
        CHUNKED + b"2;" + b"a" * 140_000,
        CHUNKED + b"2\r\n{}\r\n0\r\n" + 20_000 * b"x: yyyy\r\n",
    ],
)
def test_what_is_not_http_gets_an_error_as_json(reading, bytes_sent):
    head, _, body = exchanged(reading, bytes_sent).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400") and b"content-type: application/json" in head
    assert b"connection: close" in head and body.startswith(MALFORMED)


def test_requests_before_a_malformed_one_are_answered(reading):
    answer = exchanged(reading, 3 * GET + b"GET nothing\r\n\r\n" + GET)
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"200", b"200", b"400"]
    assert MALFORMED in answer


def test_many_requests_at_once_are_answered_in_order(reading):
    paths = [b"/healthz", b"/api/nothing"] * 300
    sent = [GET.replace(b"/healthz", path) for path in paths]
    sent.append(GET.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
    answer = exchanged(reading, b"".join(sent))
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"404"] * 300 + [b"200"]


def test_a_request_for_another_protocol_is_answered_as_http(reading):
    upgrade = b"\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    answer = exchanged(reading, GET.replace(b"\r\n\r\n", upgrade))
    assert answer.startswith(b"HTTP/1.1 200") and b"connection: close" in answer


def test_the_longest_silent_connection_of_the_address_goes_first():
    connections = OpenConnections(FEW)
    assert [connections.add(name, "10.0.0.1") for name in "abc"] == [None] * 3
    connections.set_busy("a", True)
    assert connections.add("d", "10.0.0.1") == "b"  # a works
    connections.remove("b")
    connections.set_busy("a", False)  # silent since just now
    assert [connections.add(name, "10.0.0.2") for name in "efg"] == [None, None, "c"]
    connections.remove("c")
    connections.set_busy("d", True)
    connections.set_busy("a", True)
    connections.remove("g")
    connections.add("h", "10.0.0.1")
    connections.set_busy("h", True)
    assert connections.add("i", "10.0.0.1") == "i"  # all others work: the new one is refused


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["1", "2", "busy", "idle", "gone"]))))
def test_no_series_of_events_exceeds_the_limits(events):
    connections = OpenConnections(FEW)
    addresses = {}
    for name, event in events:
        if event in ("1", "2") and name not in addresses:
            addresses[name] = event
            excess = connections.add(name, event)
            if excess is not None:
                connections.remove(excess)
                del addresses[excess]
        elif event in ("busy", "idle"):
            connections.set_busy(name, event == "busy")
        elif event == "gone":
            connections.remove(name)
            addresses.pop(name, None)
        assert len(connections) == len(addresses) <= FEW.total
        values = list(addresses.values())
        assert max(values.count("1"), values.count("2")) <= FEW.per_address


def test_limits_stay_below_the_limit_of_files():
    code = (
        "from resource import RLIMIT_NOFILE, setrlimit; "
        "from askonce.server.guard.connections import ConnectionSettings as C\n"
        "for files in (5000, 256, 100):\n"
        "    setrlimit(RLIMIT_NOFILE, (files, files))\n"
        "    c = C.below_file_limit(); print(c.total, c.per_address)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["2048 1024", "96 48", "16 16"]


def test_a_repeated_fault_is_logged_once_a_minute(caplog):
    now = [0.0]
    logger = logging.getLogger("askonce.test.repeated")
    logger.addFilter(OncePerMinute(lambda: now[0]))
    for number in range(5000):
        logger.error("fault of %d", number)
    logger.error("another fault")
    now[0] = 61.0
    logger.error("fault of %d", 7)
    logger.error("fault of %d", 8)
    assert [record.getMessage() for record in caplog.records] == [
        "fault of 0",
        "another fault",
        "fault of 7 (and 4999 more since the last such line)",
    ]


class Recorded(asyncio.Transport):
    """A transport that keeps what it is told."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def write(self, data):
        self.calls.append(data)

    def close(self):
        self.calls.append("close")

    def abort(self):
        self.calls.append("abort")

    def get_write_buffer_size(self):
        return 100


def test_what_is_written_in_one_turn_is_sent_together():
    async def run():
        real = Recorded()
        joining = JoiningTransport(real, asyncio.get_running_loop())
        joining.write(b"head")
        joining.write(b"body")
        assert real.calls == [] and joining.get_write_buffer_size() == 108
        await asyncio.sleep(0)
        assert real.calls == [b"headbody"] and joining.get_write_buffer_size() == 100
        joining.write(b"end")
        joining.close()
        assert real.calls[1:] == [b"end", "close"]
        joining.write(b"lost")
        joining.abort()
        await asyncio.sleep(0)
        assert real.calls[3:] == ["abort"]

    with ThreadPoolExecutor(1) as other:  # this thread may have a loop, of a browser's
        other.submit(asyncio.run, run()).result()
