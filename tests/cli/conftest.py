"""The program as a user runs it."""

import subprocess
import sys

import pytest

from askonce.cli import main

Completed = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def askonce_process():
    """Runs a command in a process of its own and gives its output and exit code."""

    def run(*arguments: object) -> Completed:
        command = [sys.executable, "-m", "askonce", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)

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
