"""A real server on a free port of this machine, for as long as a test needs it."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from starlette.types import ASGIApp

from askonce.engine import Engine
from askonce.server import Keys, ServerSettings, create_app
from askonce.server.guard.connections import ConnectionSettings
from askonce.server.listening import address_of, listen
from askonce.server.protocol import Server

OPEN = ServerSettings(keys=Keys(open_writes=True))
KEY = "key-of-the-tests-0123456789"
Serve = Callable[..., httpx.Client]


def running(
    engine: Engine, settings: ServerSettings, connections: ConnectionSettings | None = None
) -> AbstractContextManager[httpx.Client]:
    return running_app(create_app(engine, settings), connections)


@contextmanager
def running_app(
    app: ASGIApp, connections: ConnectionSettings | None = None
) -> Iterator[httpx.Client]:
    with listen("127.0.0.1", 0) as listener:
        server = Server(app, connections)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: server.started)
            with _client(address_of(listener)) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


def _client(address: str, headers: dict[str, str] | None = None) -> httpx.Client:
    # certificates take longer to load than most tests take
    return httpx.Client(base_url=address, headers=headers, timeout=60, verify=False)


def until(happened: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


@contextmanager
def process(
    *arguments: object,
    errors: int = subprocess.PIPE,
    key: str | None = KEY,
    before: Sequence[str] = (),
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """``askonce serve`` as a process of its own, with a key that its client sends."""
    command = [*before, sys.executable, "-m", "askonce.cli", "serve"]
    command += [*map(str, arguments), "--port", "0"]
    clean = {k: v for k, v in os.environ.items() if not k.startswith("ASKONCE_")}
    clean |= {"ASKONCE_API_KEY": key} if key else {}
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=clean)
    try:
        line = started.stdout.readline()
        actual = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert actual, line + (started.stderr.read() if started.stderr else "")
        headers = {"x-api-key": key} if key else {}
        with _client(actual[0], headers) as client:
            yield started, client
    finally:
        started.kill()
        started.communicate()


@pytest.fixture
def served() -> Callable[..., object]:
    return process


@pytest.fixture(scope="session")
def running_server() -> Callable[..., object]:
    return running


@pytest.fixture(scope="session")
def wait_until() -> Callable[..., None]:
    return until


@pytest.fixture(scope="session")
def bicycles() -> Iterator[Engine]:
    """An engine that tests only read."""
    with Engine.open("bicycles") as engine:
        yield engine


@pytest.fixture(scope="session")
def reading(bicycles: Engine) -> Iterator[httpx.Client]:
    """A client of a server whose archive stays as it is."""
    with running(bicycles, OPEN) as client:
        yield client


@pytest.fixture
def serve(bicycles: Engine) -> Iterator[Serve]:
    """Starts servers with settings, of the given engine or of the shared one.

    Name it after the fixture of an engine, so that it ends before that engine is closed.
    """
    with ExitStack() as stack:

        def start(settings: ServerSettings = OPEN, engine: Engine = bicycles) -> httpx.Client:
            return stack.enter_context(running(engine, settings))

        yield start


@pytest.fixture
def writing(bicycles_folder: Path) -> Iterator[httpx.Client]:
    """A client of a server with an archive of its own."""
    with Engine.open(bicycles_folder) as engine, running(engine, OPEN) as client:
        yield client
