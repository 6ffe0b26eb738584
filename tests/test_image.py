"""The steps of deploy/Dockerfile in a clean environment: the wheel works alone, serves, is healthy.

No image is built: each stage gets a folder as its root and a new environment as its Python.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import ClassVar

import pytest

from tests.test_deploy import ROOT, instructions

pytestmark = pytest.mark.slow

USER = 10001  # of the Dockerfile
OTHER_INDEX = r"--extra-index-url \S+ "  # its builds of torch are those that constraints.txt pins


class Stage:
    """One FROM of the Dockerfile with what follows it."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root
        self.environment: dict[str, str] = {}
        self.user: int | None = None
        subprocess.run([sys.executable, "-m", "venv", root / "python"], check=True)

    def inside(self, text: str) -> str:
        """Absolute paths of the image below the root of this stage."""
        return re.sub(r"(?<![\w./:])/(?=(?:src|data|wheels|tmp)\b)", f"{self.root}/", text)

    def variables(self) -> dict[str, str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "ASKONCE_"))}
        path = f"{self.root}/python/bin:{clean['PATH']}"
        return clean | {"PATH": path, "HOME": str(self.root / "data")} | self.environment

    def start(self, command: list[str], **options) -> subprocess.Popen:
        account = {"user": USER, "group": USER, "extra_groups": []} if self.user else {}
        return subprocess.Popen(
            [self.inside(word) for word in command],
            cwd=self.folder,
            env=self.variables(),
            text=True,
            **account,
            **options,
        )

    def run(self, *command: str, **options) -> str:
        with self.start(
            list(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        ) as process:
            out, errors = process.communicate(timeout=900)
        assert process.returncode == 0, out[-1500:] + errors[-1500:]
        return out

    def copy(self, words: str, stages: dict[str, "Stage"]) -> None:
        *sources, target = words.split()
        source = ROOT
        if sources[0].startswith("--from="):
            source = stages[sources.pop(0).removeprefix("--from=")].root
        place = Path(self.inside(target)) if target.startswith("/") else self.folder / target
        for name in sources:
            path = source / name.lstrip("/")
            if path.is_dir():
                skip = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(path, place, ignore=skip, dirs_exist_ok=True)
            else:
                onto = place / path.name if target.endswith("/") else place
                onto.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, onto)

    def step(self, keyword: str, words: str, stages: dict[str, "Stage"]) -> None:
        """One instruction after FROM."""
        if keyword == "COPY":
            self.copy(words, stages)
        elif keyword in self.STEPS:
            self.STEPS[keyword](self, words)

    def _enter(self, words: str) -> None:
        self.folder = Path(self.inside(words))
        self.folder.mkdir(parents=True, exist_ok=True)

    def _set(self, words: str) -> None:
        pairs = (pair.split("=", 1) for pair in words.split())
        self.environment |= {name: self.inside(value) for name, value in pairs}

    def _shell(self, words: str) -> None:
        if not words.startswith("useradd"):  # this machine keeps its accounts
            self.run("sh", "-ec", re.sub(OTHER_INDEX, "", words))

    def _use_account(self, _: str) -> None:
        """The Dockerfile's user, where the tests may choose one."""
        (self.root / "data").mkdir(exist_ok=True)
        if os.getuid() == 0 and self._lets_in():
            self.user = USER
            os.chown(self.root / "data", USER, USER)

    def _lets_in(self) -> bool:
        """Whether that user may run this Python, which may be in the home of another one."""
        command, account = [self.root / "python/bin/python", "-c", ""], {"user": USER}
        try:
            return not subprocess.run(command, cwd="/", extra_groups=[], **account).returncode
        except PermissionError:
            return False

    STEPS: ClassVar = {
        "WORKDIR": _enter,
        "ENV": _set,
        "RUN": _shell,
        "USER": _use_account,
    }


def command_of(keyword):
    (words,) = [words for known, words in instructions() if known == keyword]
    return json.loads(words.rpartition("CMD ")[2])


@pytest.fixture(scope="module")
def image():
    """The last stage, after every step."""
    folder = Path(tempfile.mkdtemp(prefix="image-"))
    folder.chmod(0o755)  # the user without rights comes in
    stages: dict[str, Stage] = {}
    stage = None
    for keyword, words in instructions():
        if keyword == "FROM":
            stage = Stage(folder / f"stage-{len(stages)}")
            stages[words.partition(" AS ")[2]] = stage
        else:
            stage.step(keyword, words, stages)
    yield stage
    shutil.rmtree(folder)


def test_the_image_serves_and_reports_its_health(image):
    assert not (image.root / "wheels").exists()  # removed by its own step
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    check = [word.replace("8080", port) for word in command_of("HEALTHCHECK")]
    command = [*command_of("ENTRYPOINT"), *command_of("CMD"), "--port", port]
    failing = image.start(check, stderr=subprocess.DEVNULL)
    assert failing.wait(60) != 0  # nothing listens yet
    with image.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        try:
            assert server.stdout.readline().startswith("Serving bicycles at http://0.0.0.0:")
            end = time.monotonic() + 60  # the start period
            while image.start(check, stderr=subprocess.DEVNULL).wait(60):
                assert time.monotonic() < end and server.poll() is None
            if image.user:
                status = Path(f"/proc/{server.pid}/status").read_text()
                assert re.search(rf"^Uid:\s+{USER}\s+{USER}\s", status, re.M)
            server.send_signal(signal.SIGTERM)
            assert server.wait(40) == 0
        finally:
            server.kill()


def test_from_the_wheel_alone(image):
    """Outside the repository: the demo, a recipe of the package, assistants."""
    assert not image.folder.is_relative_to(ROOT)
    assert "similar question" in image.run("askonce", "demo", "--once")
    assert image.run("askonce", "-V").strip()
    assert "wikiqa" in image.run("askonce", "train-recipe", "--help")
    rows = "question,answer,label\nWhy?,Oil it.,1\nWhy?,Sell it.,0\nHow?,Turn it.,1\nHow?,No.,0\n"
    (image.folder / "pairs").mkdir()
    for split in ("train", "dev", "test"):
        (image.folder / "pairs" / f"{split}.csv").write_text(rows)
    small = ["--set", "dataset=csv", "--set", "train.epochs=1", "--set", "text.vectors=starter"]
    recipe = ["train-recipe", "wikiqa/bow-mlp", "--data", "pairs", "--out", "r"]
    image.run("askonce", *recipe, *small)
    assert "No such" not in image.run("askonce", "mcp", "bicycles", stdin=subprocess.DEVNULL)
