"""The program as a user runs it: in a process of its own."""

import subprocess
import sys

import pytest

from askonce.cli import main


@pytest.fixture(scope="session")
def askonce():
    """Runs a command and gives its output and exit code."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "askonce", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return run


@pytest.fixture
def refused(monkeypatch, capsys):
    """Runs a command that must fail, in this process, and gives what it says and its exit code."""

    def run(*arguments: object) -> tuple[str, object]:
        monkeypatch.setattr(sys, "argv", ["askonce", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        return capsys.readouterr().err, stopped.value.code

    return run
