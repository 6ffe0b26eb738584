"""``make demo``: import InsuranceQA, serve it at once, train, and swap the trained ranker in.

With ``--once`` it asks one question over HTTP, prints the answer and exits.
"""

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from askonce.cli.output import console
from askonce.errors import AskonceError

ARCHIVE = Path("build/demo.askonce")
QUESTION = "does my car insurance cover a rental car while mine is being repaired?"
READY_TIMEOUT = 120  # seconds


def main() -> None:
    """Run the demo until Ctrl-C, or with ``--once`` until the first answer."""
    try:
        _demo(once="--once" in sys.argv[1:])
    except KeyboardInterrupt:
        console().print("\nStopped. The archive is kept in", str(ARCHIVE))
    except AskonceError as error:
        sys.exit(f"askonce: {error}")


def _demo(once: bool) -> None:
    out = console()
    if not (ARCHIVE / "archive.sqlite3").exists():
        _run("import", "insuranceqa", "--into", str(ARCHIVE))
    with _serving() as address:
        out.print(f"\n  [bold]{address}[/bold]  is ready and ranks by BM25\n")
        with _started("train", str(ARCHIVE)) as training:
            _ask(address, QUESTION)
            if once:
                return
            out.print(
                "\nTraining continues in the background; the Model page shows its progress.\n"
            )
            training.wait()
        if training.returncode == 0:
            _wait_for_model(address)
            out.print(f"\n  [bold]{address}[/bold]  now uses the trained ranker\n")
            _ask(address, QUESTION)
        out.print("\nPress Ctrl-C to stop.")
        signal.pause()


@contextmanager
def _serving() -> Iterator[str]:
    """Start a server on a free port; yields its address once it is ready."""
    with _started("serve", str(ARCHIVE), "--port", "0", stdout=subprocess.PIPE) as server:
        line = (server.stdout.readline() if server.stdout else b"").decode()
        address = next((word for word in line.split() if word.startswith("http://")), None)
        if address is None:
            raise AskonceError(f"the server did not start: {line.strip() or 'see above'}")
        _wait(lambda: _get(address, "/readyz") is not None)
        yield address


def _wait_for_model(address: str) -> None:
    def serves() -> bool:
        status = _get(address, "/readyz")
        return bool(status and status["model"] and not status["building"])

    _wait(serves)


def _wait(done: Any) -> None:  # noqa: ANN401 - a function without arguments
    end = time.monotonic() + READY_TIMEOUT
    while not done():
        if time.monotonic() > end:
            raise AskonceError(f"the server was not ready within {READY_TIMEOUT} s")
        time.sleep(0.2)


def _ask(address: str, question: str) -> None:
    out = console()
    query = urllib.parse.urlencode({"q": question, "k": 3})
    response = _get(address, f"/api/ask?{query}")
    if response is None:
        raise AskonceError(f"{address} did not answer")
    out.print(f"[bold cyan]? {question}[/bold cyan]")
    for hit in response["similar"]:
        out.print(f"  similar question: {hit['title']}", markup=False)
    for hit in response["answers"][:1]:
        out.print(f"  answer to “{hit['question_title']}”:", markup=False)
        out.print(f"    {hit['text']}", markup=False)
    out.print(f"  ({response['took_ms']:.0f} ms)")


def _get(address: str, path: str) -> Any:  # noqa: ANN401 - JSON
    try:
        with urllib.request.urlopen(address + path, timeout=30) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        error.close()
        return None


def _run(*words: str) -> None:
    if subprocess.run(_command(*words), check=False).returncode:
        raise AskonceError(f"`askonce {' '.join(words)}` failed; see above")


@contextmanager
def _started(*words: str, stdout: int | None = None) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a command in the background; it is stopped on exit."""
    process = subprocess.Popen(_command(*words), stdout=stdout)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "askonce", *words]


if __name__ == "__main__":
    main()
