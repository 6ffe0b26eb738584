"""The program as a user runs it: in a process of its own."""

import subprocess
import sys

import pytest


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
