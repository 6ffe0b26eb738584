"""The tutorial's commands and Python run in order; other pages name commands that exist."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import typer

from askonce.cli import app

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
PAGES = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in ("operating", "training"))]
PAGES += [ROOT / "docs" / f"{name}.md" for name in ("benchmarks", "scale", "tutorial")]


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def steps(script):
    """The commands of askonce one by one, and what bash runs between them."""
    between = []
    for line in script.splitlines():
        if line.startswith("askonce "):
            yield "\n".join(between)
            yield line
            between = []
        else:
            between.append(line)


def run(step, askonce):
    """In this process, except for a bench, which starts processes, and for bash; the output."""
    words = shlex.split(step, comments=True)
    if step.startswith("askonce ") and words[1] != "bench":
        done = askonce(*words[1:])
    else:
        program = f'askonce() {{ {sys.executable} -m askonce.cli "$@"; }}\n'
        done = subprocess.run(["bash", "-euc", program + step], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_run(tmp_path, monkeypatch, askonce):
    monkeypatch.chdir(tmp_path)
    shown = "".join(run(step, askonce) for step in steps("\n".join(blocks(TEXT, "sh"))))
    assert "Tyre is soft every morning" in shown  # of bicycles
    assert "Chain skips under load" in shown  # of the archive that the tutorial makes
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert {row["model"] for row in figures} == {"random", "bm25", "tfidf"}
    assert "bm25" in (tmp_path / "report.html").read_text()
    assert re.search(r"MAP +\d\.\d+", shown)


def test_the_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(TEXT, "python")
    exec(compile(code, "docs/tutorial.md", "exec"), {})


def command_lines():
    for path in PAGES:
        for block in blocks(path.read_text("utf-8"), "sh"):
            for line in re.sub(r"\\\n", " ", block).splitlines():
                if match := re.match(r"(?:askonce|.* -m askonce\.cli) ([^$]*)$", line):
                    yield path.name, shlex.split(match[1], comments=True)


def test_the_command_line_takes_what_the_docs_write():
    """Names of commands and options, and the kinds of their values; nothing is run."""
    group, wrong = typer.main.get_command(app), []
    for page, words in command_lines():
        try:
            name, command, rest = group.resolve_command(typer.Context(group), words)
            command.make_context(name, rest)
        except Exception as error:
            wrong.append(f"{page}: askonce {shlex.join(words)}: {error}")
    assert not wrong
