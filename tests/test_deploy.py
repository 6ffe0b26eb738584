"""The files of deploy/ are well formed and call commands that exist."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

from askonce.cli import app
from askonce.server import ServerSettings

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
KEYWORDS = [
    "FROM",
    "WORKDIR",
    "COPY",
    "RUN",
    "ENV",
    "USER",
    "VOLUME",
    "EXPOSE",
    "HEALTHCHECK",
    "ENTRYPOINT",
    "CMD",
]


def instructions():
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def check_call(words):
    """The verb exists and has all of these options."""
    commands = typer.main.get_command(app).commands
    verb, *rest = words
    known = {name for parameter in commands[verb].params for name in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= known


def test_the_dockerfile_copies_what_exists_and_runs_as_nobody():
    keywords = [keyword for keyword, _ in instructions()]
    assert set(keywords) == set(KEYWORDS)
    users = [rest for keyword, rest in instructions() if keyword == "USER"]
    assert users == ["askonce"] and keywords.index("USER") < keywords.index("ENTRYPOINT")
    for keyword, rest in instructions():
        if keyword == "COPY" and not rest.startswith("--from"):
            assert all((ROOT / name).exists() for name in rest.split()[:-1])
        if keyword in ("CMD", "ENTRYPOINT"):
            assert isinstance(eval(rest), list)
    (command,) = [eval(rest) for keyword, rest in instructions() if keyword == "CMD"]
    check_call(command)


def test_compose_serves_with_commands_that_exist():
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for name, service in services.items():
        if name.startswith("askonce"):
            check_call(service["command"])
            assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert {p for s in services.values() for p in s.get("profiles", [])} == {"postgres", "milvus"}


def test_the_unit_starts_a_command_that_exists():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "askonce.service")
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/askonce") and unit["Service"]["DynamicUser"] == "yes"
    check_call(words)


def caddy_blocks(text):
    """A Caddyfile as nested directives: {first word: [(other words, block)]}."""
    root: dict = {}
    open_blocks = [root]
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words == ["}"]:
            open_blocks.pop()
        elif words:
            block: dict = {}
            first, *rest = words[:-1] if words[-1] == "{" else words
            open_blocks[-1].setdefault(first, []).append((rest, block))
            if words[-1] == "{":
                open_blocks.append(block)
    assert open_blocks == [root], "braces do not match"
    return root


def test_caddy_forwards_everything_to_the_server_with_the_address_of_the_client():
    """Caddy may be absent; tests/server/test_behind_nginx.py runs the example for nginx."""
    text = (DEPLOY / "Caddyfile").read_text()
    ((name, ((_, site),)),) = caddy_blocks(text).items()
    assert set(site) == {"encode", "request_body", "reverse_proxy"}
    ((words, proxy),) = site["reverse_proxy"]  # without a path: all routes
    port = {p.name: p.default for p in typer.main.get_command(app).commands["serve"].params}["port"]
    assert words == [f"127.0.0.1:{port}"]
    assert proxy == {"header_up": [(["X-Forwarded-For", "{remote_host}"], {})]}
    ((_, body),) = site["request_body"]
    assert body["max_size"] == [(["4MiB"], {})] and ServerSettings().body_bytes == 4 * 2**20
    (options,) = re.findall(r"start Askonce with (.*)", text)
    check_call(["serve", *options.split()])
    assert f"--allowed-host {name}" in options


def test_the_proxies_name_the_same_options():
    comments = [(DEPLOY / name).read_text() for name in ("nginx.conf", "Caddyfile")]
    (options,) = {re.search(r"start Askonce with (.*)", text)[1] for text in comments}
    unit = (DEPLOY / "askonce.service").read_text()
    assert set(options.split()) <= set(unit.split())


FROM_THE_WHEEL = """
from pathlib import Path
import askonce.server
from askonce import Engine
from askonce.cli.benchmarks.inputs import packaged_recipe
from askonce.training.recipe import read_recipe
print(read_recipe(packaged_recipe(Path("wikiqa/hyperqa"))).model)
with Engine.open("bicycles") as engine:
    print(engine.similar("chain skips under load", k=1)[0].title)
print(Path(askonce.server.__file__).with_name("static").joinpath("widget.js"))
"""


@pytest.mark.slow
def test_what_the_wheel_holds_is_enough(tmp_path):
    """As its settings say, without building it; tests/test_image.py does, and takes minutes."""
    site = tmp_path / "site"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    wheel = settings["targets"]["wheel"]
    for package in wheel["packages"]:
        # with its bytecode, which keeps the times of the sources and spares compiling them
        shutil.copytree(ROOT / package, site / Path(package).name)
    for source, target in wheel["force-include"].items():
        shutil.copytree(ROOT / source, site / target)
    done = subprocess.run(
        [sys.executable, "-c", FROM_THE_WHEEL],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    model, title, widget = done.stdout.splitlines()
    assert model == "hyperqa" and title.startswith("Chain skips")
    assert Path(widget).is_relative_to(site) and Path(widget).is_file()
