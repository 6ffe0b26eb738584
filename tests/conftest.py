"""What several tests share: where the benchmark data is, a real PostgreSQL, a small disk."""

import gc
import logging
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

from askonce.data.benchmarks import load_dataset
from askonce.types import Dataset

# small tensors on several threads wait for each other more than they compute
os.environ.setdefault("OMP_NUM_THREADS", "1")

# files of tests in memory, where there is room: half of what a small test does is writing files
MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("TMPDIR", str(MEMORY))
    tempfile.tempdir = None  # pytest has looked for it already

# on a busy machine any example may take long; `make test-all` tries more of them
settings.register_profile(
    "quick", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

DATA = Path(os.environ.get("ASKONCE_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of benchmark data; tests that need it are skipped where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"no benchmark data at {DATA}; set ASKONCE_DATA to its folder")
    return DATA


@pytest.fixture(scope="session")
def published(data_folder: Path) -> Callable[[str], Dataset]:
    """A published dataset by its name; read once for all tests of a worker."""
    return cache(lambda name: load_dataset(name, data_folder))


@pytest.fixture(scope="session")
def indexed_bicycles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in archive in a folder, with its indexes."""
    from askonce.archive import Archive, open_archive
    from askonce.engine import Engine

    folder = tmp_path_factory.mktemp("indexed") / "bicycles.askonce"
    archive = Archive.open(folder, create=True)
    with closing(open_archive("bicycles")) as source, closing(archive):
        archive.write(source.iterate(html=True), source.links())
    Engine.open(folder).close()
    return folder


@pytest.fixture
def bicycles_folder(indexed_bicycles: Path, tmp_path: Path) -> Path:
    """The same in a folder of the test's own: a copy opens in a tenth of the time."""
    return shutil.copytree(indexed_bicycles, tmp_path / indexed_bicycles.name)


@pytest.fixture(scope="session")
def askonce() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a command in this process, which has loaded torch already; its output and exit code."""
    from askonce.cli import main

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command, out, err = ["askonce", *map(str, arguments)], StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", command):
            try:
                main()
                code = 0
            except SystemExit as stopped:
                code = stopped.code or 0
        return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())

    return run


class Postgres:
    """A PostgreSQL server of our own that can be stopped and started; only a socket leads to it."""

    PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    QUICK = ("listen_addresses=", "fsync=off", "full_page_writes=off", "shared_buffers=16MB")

    def __init__(self, folder: Path) -> None:
        self.folder, self._schemas = folder, count()
        self._process: subprocess.Popen[bytes] | None = None
        # it refuses to be run by root
        self._user = {}
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            self._user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(folder, user.pw_uid, user.pw_gid)
        # an alphabet with an order of its own, which must make no difference
        locale = ("--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en")
        self._run("initdb", "-D", self.folder / "data", "-U", "askonce", "--no-sync", *locale)

    def start(self) -> None:
        settings = [word for setting in self.QUICK for word in ("-c", setting)]
        command = [self.PROGRAMS[-1] / "postgres", "-D", self.folder / "data", "-k", self.folder]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *settings], stdout=log, stderr=log, cwd=self.folder, **self._user
            )
        end = time.monotonic() + 30
        while subprocess.run(
            [self.PROGRAMS[-1] / "pg_isready", "-q", "-h", self.folder]
        ).returncode:
            assert time.monotonic() < end, (self.folder / "log").read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """At once, as when its machine is switched off."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()

    def new(self) -> str:
        """The address of an empty schema, which is quicker to make than a database."""
        import psycopg

        name = f"forum{next(self._schemas)}"
        server = f"postgresql://askonce:geheim@/postgres?host={self.folder}"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{server}&options=-csearch_path%3D{name}"

    def _run(self, program: str, *arguments: object) -> None:
        command = [self.PROGRAMS[-1] / program, *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, **self._user)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A running PostgreSQL from the system's packages; tests are skipped where there is none."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    if not Postgres.PROGRAMS:
        pytest.skip("no PostgreSQL in /usr/lib/postgresql (on Debian: apt install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    folder.chmod(0o755)
    server = Postgres(folder)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(folder)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Make a file system of this size ("4m") that can really be full."""
    folder = tmp_path / "disk"

    def make(size: str) -> Path:
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("may not mount a file system here")
        return folder

    yield make
    if folder.is_mount():
        subprocess.run(["umount", str(folder)], check=True)


def pytest_configure(config):
    """Keep vectors that a teacher reads in tests out of the user's cache."""
    cache = tempfile.TemporaryDirectory(prefix="askonce-cache-")
    config.add_cleanup(cache.cleanup)
    os.environ["ASKONCE_CACHE"] = cache.name


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config, specs):
    """Fork the workers from one process that has loaded the tests and what they import."""
    from execnet import XSpec

    folder = Path(tempfile.mkdtemp(prefix="askonce-workers-"))
    program, path = [sys.executable, str(Path(__file__).with_name("workers.py"))], folder / "socket"
    loading = subprocess.Popen([*program, "load", str(path), *config.args], stdin=subprocess.PIPE)
    while not path.exists():
        assert loading.poll() is None, "tests/workers.py did not start"
        time.sleep(0.01)

    def stop():
        loading.communicate()
        shutil.rmtree(folder)

    config.add_cleanup(stop)
    specs[:] = [
        XSpec(f"{spec}//python={shlex.join([*program, 'start', str(path)])}") for spec in specs
    ]


def pytest_collection_finish():
    """What is loaded by now stays: look for garbage among newer objects only, and seldom."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)  # Python's 700, 10, 10 take a fifteenth of the time
    # pytest adds its handlers to each logger that does not propagate, as fifty of torch, six times
    # for each test
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "torch":
            logging.getLogger(name).propagate = True


def pytest_terminal_summary(terminalreporter, config):
    """Say where the page's pictures are."""
    folder = config.rootpath / "build" / "screenshots"
    if folder.is_dir():
        terminalreporter.write_line(f"screenshots of the page: {folder}")
