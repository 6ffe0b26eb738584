"""``askonce demo``: import an archive, serve it at once, train, and swap the trained ranker in."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from askonce.cli.options import JsonFlag
from askonce.cli.output import console, write_json
from askonce.errors import AskonceError

QUESTIONS = {
    "bicycles": "my chain jumps when I pedal hard uphill",
    "insuranceqa": "does my car insurance cover a rental car while mine is being repaired?",
}
READY_TIMEOUT = 120  # seconds


def demo(
    into: Annotated[
        Path, Option(help="Folder of the archive; it is kept for the next time.")
    ] = Path("demo.askonce"),
    insuranceqa: Annotated[
        bool,
        Option(
            "--insuranceqa",
            help="Use InsuranceQA, a real archive of 17,000 questions (pip install "
            "'askonce[demo]'), instead of the built-in one.",
        ),
    ] = False,
    once: Annotated[
        bool, Option("--once", help="Ask one question, print the answer, exit.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Try everything: import an archive, serve it, train, and switch to the trained ranker."""
    name = "insuranceqa" if insuranceqa else "bicycles"
    try:
        _demo(into, name, once, json)
    except KeyboardInterrupt:
        console(stderr=json).print("\nStopped. The archive is kept in", str(into))


def _demo(archive: Path, name: str, once: bool, as_json: bool) -> None:
    out = console(stderr=as_json)
    output = sys.stderr.fileno() if as_json else None  # of the commands that it runs
    if not (archive / "archive.sqlite3").exists():
        _import(archive, name, output)
    with _serving(archive) as address:
        out.print(f"\n  [bold]{address}[/bold]  is ready and ranks by BM25\n")
        with _started("train", str(archive), stdout=output) as training:
            _ask(address, QUESTIONS[name], as_json)
            if once:
                return
            out.print(
                "\nTraining continues in the background; the Model page shows its progress.\n"
            )
            training.wait()
        if training.returncode == 0:
            _wait_for_model(address)
            out.print(f"\n  [bold]{address}[/bold]  now uses the trained ranker\n")
            _ask(address, QUESTIONS[name], as_json)
        out.print("\nPress Ctrl-C to stop.")
        signal.pause()


def _import(archive: Path, name: str, output: int | None) -> None:
    if name == "insuranceqa":
        _run("import", name, "--into", str(archive), stdout=output)
        return
    with resources.as_file(resources.files("askonce.data") / "bicycles.jsonl") as path:
        _run("import", "jsonl", str(path), "--into", str(archive), stdout=output)


@contextmanager
def _serving(archive: Path) -> Iterator[str]:
    """Start a server on a free port; yields its address once it is ready."""
    with _started("serve", str(archive), "--port", "0", "--json", stdout=subprocess.PIPE) as server:
        report = b""
        for line in iter(server.stdout.readline, b"") if server.stdout else ():
            report += line
            if line == b"}\n":  # its end; the server goes on
                break
        if not report:
            raise AskonceError("the server did not start; see above")
        address = str(json.loads(report)["address"])
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


def _ask(address: str, question: str, as_json: bool) -> None:
    out = console()
    response = _get(address, "/api/ask", q=question, k=3)
    if response is None:
        raise AskonceError(f"{address} did not answer")
    if as_json:
        write_json({"question": question, **response})
        return
    out.print(f"[bold cyan]? {question}[/bold cyan]")
    for hit in response["similar"]:
        out.print(f"  similar question: {hit['title']}", markup=False)
    for hit in response["answers"][:1]:
        out.print(f"  answer to “{hit['question_title']}”:", markup=False)
        out.print(f"    {hit['text']}", markup=False)
    out.print(f"  ({response['took_ms']:.0f} ms)")


def _get(address: str, path: str, **query: str | int) -> Any:  # noqa: ANN401 - JSON
    import httpx

    response = httpx.get(address + path, params=query, timeout=30)
    return response.json() if response.is_success else None


def _run(*words: str, stdout: int | None) -> None:
    if subprocess.run(_command(*words), check=False, stdout=stdout).returncode:
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
