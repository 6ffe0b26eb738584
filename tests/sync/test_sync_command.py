"""``askonce sync`` as a user runs it: once, again and again, and with what it cannot use."""

import json
import os
import signal
import subprocess
import sys

import pytest

from askonce.archive import Archive
from askonce.cli import main
from tests.sync.conftest import stored

SYNC = [sys.executable, "-m", "askonce.cli", "sync"]


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["askonce", "sync", *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code


def test_one_pass(monkeypatch, capsys, tmp_path, forum, address):
    folder = tmp_path / "a.askonce"
    assert not run(monkeypatch, folder, address, "--rate", 1000, "--json")
    summary = json.loads(capsys.readouterr().out)
    assert (summary["added"], summary["full"]) == (len(forum.posts), True)
    assert not run(monkeypatch, folder, address, "--rate", 1000)
    assert capsys.readouterr().out.startswith("0 added, 0 changed, ")
    archive = Archive.open(folder)
    assert stored(archive) == forum.truth()
    archive.close()


def test_pass_after_pass_until_it_is_told_to_stop(tmp_path, forum, address):
    folder = tmp_path / "a.askonce"
    options = ["--every", "1", "--rate", "1000"]
    with subprocess.Popen(
        [*SYNC, folder, address, *options],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        text=True,
    ) as process:
        assert process.stdout.readline().startswith(f"{len(forum.posts)} added, ")
        name = forum.ask()
        while not process.stdout.readline().startswith("1 added, "):
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    archive = Archive.open(folder)
    assert archive.post(name) is not None
    archive.close()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.jsonl"], "nothing at 'nothing.jsonl'; expected the file or folder to follow"),
        (["https://x.example", "--format", "discorse"], "did you mean 'discourse'"),
        (["ftp://x.example"], "is no file and no http:// or https:// address"),
    ],
)
def test_a_source_that_it_cannot_follow(monkeypatch, capsys, tmp_path, words, message):
    folder = tmp_path / "a.askonce"
    assert run(monkeypatch, folder, *words) == 2
    assert message in capsys.readouterr().err
    assert not folder.exists()
