"""Workers of pytest-xdist, forked from one process that has loaded the tests and what they import.

    python tests/workers.py load SOCKET TESTS...   load, then fork whenever somebody connects
    python tests/workers.py start SOCKET -u -c X   run X in such a fork, as ``python -u -c X`` does

Loading torch, SciPy, matplotlib and the modules of tests takes longer than listing the tests, so it
is done once.
"""

import gc
import os
import select
import signal
import socket
import sys
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

MODULES = (
    "alembic.command",
    "askonce.bench.report.document",
    "askonce.bench.run",
    "askonce.engine",
    "askonce.models",
    "askonce.server",
    "askonce.training.run",
    "gensim.models",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "scipy.stats",
    "sklearn.feature_extraction.text",
    "sqlalchemy",
    "torch._dynamo",
)
OPTIONAL = ("mcp", "playwright.sync_api", "sentence_transformers")


class Reports:
    """Forgets modules that are skipped or cannot be imported, so that the workers report them."""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        name = report.nodeid.removesuffix(".py").replace("/", ".")
        if not report.passed:
            for half_loaded in [m for m in sys.modules if f"{m}.".startswith(f"{name}.")]:
                del sys.modules[half_loaded]


def load(path: str, *tests: str) -> None:
    """Fork for each connection; until stdin ends, as it does with pytest, and all forks too."""
    sys.path.pop(0)  # the folder of this file
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    for name in MODULES:
        import_module(name)
    for name in OPTIONAL:
        with suppress(ImportError):
            import_module(name)
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        options = ["--collect-only", "--capture=no", "-p", "no:cacheprovider"]
        pytest.main([*options, *tests], plugins=[Reports()])
    gc.freeze()
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        code, files, _, _ = socket.recv_fds(connection, 65536, 3)
        child = os.fork()
        if child == 0:
            listener.close()
            run(code.decode(), files)
        for file in (*files, connection.detach()):
            os.close(file)
    listener.close()
    while True:  # so that their processor time counts as ours
        try:
            os.wait()
        except ChildProcessError:
            return


def run(code: str, files: list[int]) -> None:
    """Run code with these as stdin, stdout and stderr, and end."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = os.fdopen(0, closefd=False)
    main = sys.modules["__main__"] = ModuleType("__main__")
    sys.argv = ["-c"]
    exec(code, main.__dict__)
    sys.exit()  # not at once: temporary folders are removed at the end


def start(path: str, *options: str) -> None:
    """Ask for a fork with our files, and end when it does."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [options[-1].encode()], [0, 1, 2])
        for file in (0, 1):
            os.close(file)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # pytest ends the workers
        connection.recv(1)


if __name__ == "__main__":
    {"load": load, "start": start}[sys.argv[1]](*sys.argv[2:])
