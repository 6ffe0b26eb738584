"""The memory of one server with several archives.

    python benchmarks/several.py --posts 17000 --archives 1 2 4 --json F [--folder DIR]

Every archive is a copy of the built-in one, or of a generated forum with --posts questions and half
as many answers; both have untrained models of the usual size (see forum_archive.py). Memory is read
when all models are in service and each archive has answered some questions; ``own_mb`` is without
mapped files, such as indexes and libraries.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from importlib import resources
from pathlib import Path
from typing import Any

from forum_archive import leave_models, make, run_askonce

QUESTIONS = (
    "my chain jumps when I pedal hard uphill",
    "clean disc brake rotors",
    "which tyre for wet roads",
    "how do I remove a stuck pedal",
)
START_SECONDS = 1800


def main() -> None:
    """Measure, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--posts", type=int, default=17_000, help="questions of the forum")
    parser.add_argument("--archives", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    parser.add_argument("--folder", type=Path, help="keep the forum here, and use it again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        built_in = Path(scratch) / "bicycles.askonce"
        make_built_in(built_in)
        forum = options.folder or Path(scratch) / "forum.askonce"
        make(forum, options.posts, Path(scratch), encode=False)
        result = {
            name: memory(folder, options.archives, Path(scratch) / name)
            for name, folder in (("built-in", built_in), (f"{options.posts:,} questions", forum))
        }
    text = json.dumps(result, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


def make_built_in(folder: Path) -> None:
    """The built-in archive with models and indexes on the disk."""
    with resources.as_file(resources.files("askonce.data") / "bicycles.jsonl") as path:
        run_askonce("import", "jsonl", path, "--into", folder)
    leave_models(folder)
    run_askonce("index", folder)


def memory(source: Path, counts: list[int], scratch: Path) -> dict[str, Any]:
    """The memory of servers with so many copies of an archive, and what each copy adds."""
    copies = []
    for number in range(max(counts)):
        copies.append(scratch / f"copy{number}.askonce")
        shutil.copytree(source, copies[-1], ignore=shutil.ignore_patterns("lock"))
    measured = {count: server_memory(copies[:count]) for count in counts}
    result: dict[str, Any] = {f"{count} archives": values for count, values in measured.items()}
    first, last = min(counts), max(counts)
    if last > first:
        result["each_more_mb"] = {
            kind: round((measured[last][kind] - measured[first][kind]) / (last - first), 1)
            for kind in measured[first]
        }
    shutil.rmtree(scratch)
    return result


def server_memory(folders: list[Path]) -> dict[str, float]:
    """The memory of one server with these archives, in megabytes."""
    command = [sys.executable, "-m", "askonce", "serve", *map(str, folders), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            line = server.stdout.readline() if server.stdout else ""
            address = next(word for word in line.split() if word.startswith("http://"))
            prefixes = [f"/{folder.stem}" if len(folders) > 1 else "" for folder in folders]
            for prefix in prefixes:
                wait_for_model(f"{address}{prefix}")
                for question in QUESTIONS:
                    get(f"{address}{prefix}/api/ask?{urllib.parse.urlencode({'q': question})}")
            values = resident(server.pid)
            print(f"{len(folders)} archives: {values}", file=sys.stderr)
            return values
        finally:
            server.terminate()
            server.wait()


def wait_for_model(address: str) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        status = get(f"{address}/readyz")
        if status and status["model"] and not status["building"]:
            return
        if time.monotonic() > end:
            sys.exit(f"no model at {address} within {START_SECONDS} s")
        time.sleep(0.2)


def get(address: str) -> Any:  # noqa: ANN401 - JSON
    try:
        with urllib.request.urlopen(address, timeout=60) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        error.close()
        return None


def resident(process: int) -> dict[str, float]:
    text = Path(f"/proc/{process}/status").read_text()
    kinds = {"rss_mb": "VmRSS", "own_mb": "RssAnon"}
    return {
        name: round(int(re.search(rf"{kind}:\s+(\d+)", text)[1]) / 1024, 1)
        for name, kind in kinds.items()
    }


if __name__ == "__main__":
    os.environ.setdefault("ASKONCE_CACHE", tempfile.mkdtemp())
    main()
