"""How commands end: damaged imports, interrupts, shortened lists, working threads."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from askonce.cli import app
from askonce.errors import AskonceError

GOOD = '{"id": "q1", "kind": "question", "title": "Why is my tyre flat?"}\n'


@pytest.fixture
def run():
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, [str(argument) for argument in arguments])


def test_an_import_of_damaged_lines_only_fails_and_leaves_no_archive(tmp_path, run):
    dump, into = tmp_path / "dump.jsonl", tmp_path / "new.askonce"
    dump.write_text("no json\n[]\n")
    assert run("import", "jsonl", dump, "--into", into).exit_code == 1
    assert not into.exists()
    strict = run("import", "jsonl", dump, "--into", into, "--strict")
    assert isinstance(strict.exception, AskonceError)
    assert not into.exists()
    dump.write_text('{"kind": "link", "source": "q1", "target": "q2", "link": "related"}\n')
    empty = run("import", "jsonl", dump, "--into", into)
    assert (empty.exit_code, into.exists()) == (1, False)
    assert "nothing was imported" in empty.stderr
    dump.write_text(GOOD + "no json\n")
    assert run("import", "jsonl", dump, "--into", into).exit_code == 0
    dump.write_text("no json\n")
    assert run("import", "jsonl", dump, "--into", into).exit_code == 1
    assert into.exists(), "an archive that was there stays"


def test_an_interrupted_import_is_marked_and_completed_by_the_same_command(
    tmp_path, run, monkeypatch
):
    dump, into = tmp_path / "dump.jsonl", tmp_path / "new.askonce"
    dump.write_text(GOOD)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("askonce.archive.load", interrupted)
        stopped = run("import", "jsonl", dump, "--into", into)
    assert stopped.exit_code == 130
    assert "askonce: interrupted" in stopped.stderr
    assert "an import was interrupted" in run("info", into).stdout
    assert run("import", "jsonl", dump, "--into", into).exit_code == 0
    described = json.loads(run("info", into, "--json").stdout)
    assert described["interrupted_import"] is None
    assert described["counts"]["questions"] == 1


def test_info_lists_trained_models_only(tmp_path, run):
    dump, into = tmp_path / "dump.jsonl", tmp_path / "new.askonce"
    dump.write_text(GOOD)
    run("import", "jsonl", dump, "--into", into)
    for name in ("0001", "0010", "0002"):
        (into / "models" / name).mkdir(parents=True)
        (into / "models" / name / "manifest.json").write_text("{}")
    (into / "models" / ".training").mkdir()
    (into / "models" / "current").write_text("0010")
    described = json.loads(run("info", into, "--json").stdout)
    assert (described["models"], described["model"]) == (["0001", "0002", "0010"], "0010")
    assert "models: 0001, 0002, 0010 (in service)" in run("info", into).stdout


def test_duplicates_say_how_many_of_how_many_they_show(run):
    shown = run("duplicates", "bicycles", "--newest", 60, "--least", 0.2, "--limit", 2, "--json")
    pairs = json.loads(shown.stdout)
    assert len(pairs) == 2
    assert {"confidence", "id", "other_id"} <= pairs[0].keys()
    assert "2 of " in shown.stderr
    assert run("duplicates", "bicycles", "--newest", 20, "--out", "-").stdout.startswith("confid")


def test_a_thread_that_still_works_does_not_hold_up_the_end():
    code = """
import threading, time
import askonce.cli as cli
def main():
    threading.Thread(target=time.sleep, args=(60,)).start()
    print("done")
    raise SystemExit(130)
cli.main = main
cli.program()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert (run.returncode, run.stdout, run.stderr) == (130, "done\n", "")
