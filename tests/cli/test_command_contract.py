"""What all commands have in common: ``--json``, ``--out``, a closed pipe."""

import os
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest
import typer

from askonce.cli import app
from askonce.cli.group import RENAMED, current_spelling

COMMANDS = typer.main.get_command(app).commands
SPEAKS_JSON = {"mcp"}  # a protocol on stdout
# options that name a file or a folder which is read, changed in place, or kept between runs
NOT_OUTPUT = {
    "--api-key-file", "--archive", "--config", "--data", "--earlier", "--folder", "--into", "--map",
    "--qrels", "--readme", "--recipes", "--run", "--start", "--vectors",
}  # fmt: skip


def options(command):
    return {name: one for one in command.params for name in one.opts if name.startswith("--")}


def test_every_command_prints_json_by_the_same_flag():
    for name, command in COMMANDS.items():
        flag = options(command).get("--json")
        assert (flag is None) == (name in SPEAKS_JSON), name
        if flag is not None:
            assert (flag.is_flag, flag.help) == (True, "Print the result as JSON."), name


def test_every_output_is_called_out():
    seen = set()
    for name, command in COMMANDS.items():
        hints = get_type_hints(command.callback)
        for option, parameter in options(command).items():
            if "Path" in str(hints[parameter.name]) and not parameter.hidden:
                assert option == "--out" or option in NOT_OUTPUT, f"{name} {option}"
                seen.add(option)
        arguments = [one for one in command.params if not one.opts[0].startswith("-")]
        assert not any("to write" in (one.help or "") for one in arguments), name
    assert seen == {"--out", *NOT_OUTPUT}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "bicycles"), "a folder is written"),
        (("train-recipe", "wikiqa/hyperqa", "--data", "."), "a folder is written"),
        (("pretrain", "wikiqa/hyperqa", "--data", "."), "a folder is written"),
        (("tune", "wikiqa/hyperqa", "--data", "."), "a folder is written"),
        (("train-pairs", "."), "a folder is written"),
        (("bench", "csv", "--data", "."), "a folder is written"),
        (("convert", "csv", "--data", "."), "a folder is written"),
        (("export-model", "."), "a folder is written"),
        (("export", "bicycles", "--format", "beir"), "stdout takes jsonl"),
    ],
)
def test_a_folder_is_not_written_to_stdout(refused, arguments, message):
    error, code = refused(*arguments, "--out", "-")
    assert message in error
    assert code == 2
    assert not Path("-").exists()


def test_every_output_to_a_file_or_folder_is_tried_with_stdout():
    tried = {"duplicates", "export", "report"}  # below, and in the tests of the bench
    (mark,) = test_a_folder_is_not_written_to_stdout.pytestmark
    tried |= {arguments[0] for arguments, _ in mark.args[1]}
    assert tried == {name for name, command in COMMANDS.items() if "--out" in options(command)}


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        ("export a --to b", "export a --out b", "--to is now --out"),
        ("export a --to=b", "export a --out=b", "--to is now --out"),
        ("report s --html a.html", "report s --out a.html", "--html is now --out"),
        ("export-model a --to onnx", "export-model a --to onnx", ""),
        ("train r.toml", "train-recipe r.toml", "use `askonce train-recipe`"),
        ("bench csv --json f.json --jobs 1", "bench csv --json-file f.json --jobs 1", "--json > F"),
        ("bench csv --json=f", "bench csv --json-file f", "--json > F"),
        ("bench csv --json -", "bench csv --json", "--json > F"),
        ("bench --json csv", "bench --json csv", ""),
        ("bench csv --json", "bench csv --json", ""),
    ],
)
def test_earlier_spellings_work_with_a_note(capsys, before, after, note):
    assert current_spelling(before.split()) == after.split()
    error = capsys.readouterr().err
    assert note in error
    assert bool(error) == bool(note)


def test_earlier_spellings_are_gone_from_the_commands():
    for name, renamed in RENAMED.items():
        assert not set(renamed) & set(options(COMMANDS[name]))
        assert set(renamed.values()) <= set(options(COMMANDS[name]))


def test_a_closed_pipe_is_quiet():
    """As in ``askonce … | head -1``, whatever prints: rich, click, csv or plain lines."""
    commands = (
        ("datasets",),  # as `models`, which loads torch
        ("datasets", "--json"),
        ("duplicates", "bicycles", "--newest", "20"),
        ("export", "bicycles", "--out", "-"),
    )
    reading, writing = os.pipe()
    os.close(reading)
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "askonce", *command], stdout=writing, stderr=subprocess.PIPE
        )
        for command in commands
    ]
    os.close(writing)
    for command, process in zip(commands, running, strict=True):
        _, error = process.communicate(timeout=120)
        assert (process.returncode, error.decode().strip()) == (0, ""), command
