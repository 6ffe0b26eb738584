import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from askonce.archive.tables import FORMAT
from askonce.cli import app
from askonce.cli.archives.ask import verdict
from askonce.errors import AskonceError, ConfigError, UnknownName
from askonce.ranking.manifest import Manifest, Serving, new_folder, write_manifest

QUESTION = {"id": "q", "kind": "question", "title": "Why?", "created": "2021-01-17"}
ANSWER = {"id": "a", "kind": "answer", "body": "So.", "parent": "q", "created": "2022-01-01"}


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def run_json(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, (QUESTION, ANSWER, {"kind": "?"}))))
    return path


def test_import_twice_info_and_export(tmp_path, dump):
    archive = tmp_path / "x.askonce"
    first = run_json("import", "jsonl", dump, "--into", archive)
    assert (first["added"], first["changed"], first["unchanged"]) == (2, 0, 0)
    assert first["damaged"] == 1
    assert first["examples"] == [
        "a.jsonl, line 3: expected kind question, answer or link, found '?'"
    ]
    again = run_json("import", "jsonl", dump, "--into", archive)
    assert (again["added"], again["changed"], again["unchanged"]) == (0, 0, 2)

    described = run_json("info", archive)
    assert described["archive"] == "x"
    assert (described["format"], described["change"]) == (FORMAT, 2)
    assert described["counts"]["questions"] == described["counts"]["answers"] == 1
    assert described["years"] == [
        {"year": "2021", "questions": 1, "answers": 0},
        {"year": "2022", "questions": 0, "answers": 1},
    ]
    assert described["bytes"]["posts"] == described["bytes"]["all"] > 0
    assert (described["indexes"], described["models"]) == ({}, [])

    run("export", archive, "--out", tmp_path / "out.jsonl")
    run("import", "jsonl", tmp_path / "out.jsonl", "--into", tmp_path / "y.askonce", "--strict")
    run("export", tmp_path / "y.askonce", "--out", tmp_path / "again.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == (tmp_path / "again.jsonl").read_text()
    run("export", archive, "--format", "beir", "--out", tmp_path / "beir")
    assert run_json("import", "beir", tmp_path / "beir", "--into", archive)["unchanged"] == 2


def test_people_read_counts_on_stdout_and_damage_on_stderr(tmp_path, dump):
    result = run("import", "jsonl", dump, "--into", tmp_path / "x.askonce")
    assert "2 added, 0 changed, 0 unchanged; 0 links" in result.stdout
    assert result.stderr.startswith("skipped 1 damaged record:\n")  # no bar, no empty line
    assert "a.jsonl, line 3" in result.stderr
    assert "line 3" not in result.stdout
    shown = run("info", tmp_path / "x.askonce").stdout
    assert "1  questions" in shown
    assert "2021" in shown and f"format {FORMAT}" in shown


def test_indexes_and_models_are_named(tmp_path, dump):
    archive = tmp_path / "x.askonce"
    run("import", "jsonl", dump, "--into", archive)
    for name, text in (("lexical", '{"change": 2}'), ("broken", "{")):
        (archive / "index" / name).mkdir(parents=True)
        (archive / "index" / name / "position.json").write_text(text)
    for name in ("0002", "0010", "cabin-1", ".training"):
        (archive / "models" / name).mkdir(parents=True)
        (archive / "models" / name / "manifest.json").write_text("{}")
    (archive / "models" / "0011").mkdir()  # a training run that did not end
    described = run_json("info", archive)
    assert described["indexes"] == {"lexical": {"change": 2}, "broken": None}
    assert described["models"] == ["0002", "0010"]
    assert set(described["bytes"]) == {"posts", "index", "models", "all"}
    (archive / "archive.sqlite3.backup-1").write_bytes(b"x" * 100)
    assert run_json("info", archive)["bytes"]["backup"] == 100
    assert "models: 0002, 0010" in run("info", archive).stdout


def test_models_that_cannot_serve_are_named_beside_the_answer(tmp_path, dump):
    archive = tmp_path / "x.askonce"
    run("import", "jsonl", dump, "--into", archive)
    write_manifest(new_folder(archive), Manifest("2026-01-01", Serving()))
    manifest = archive / "models" / "0001" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"bm25": 1.0', '"bm25": "much"'))
    for command in (("ask", archive, "anything"), ("index", archive)):
        result = run(*command)
        (note,) = [line for line in result.stderr.splitlines() if line.startswith("note:")]
        assert "models 0001 cannot serve" in note
        assert "questions.weights.bm25 = 'much'; expected float" in note


def test_a_wrong_call_makes_no_archive(tmp_path, dump):
    archive = tmp_path / "x.askonce"
    wrong = [
        (UnknownName, "did you mean 'jsonl'", ("jsonk", dump)),
        (AskonceError, "nothing at", ("jsonl", tmp_path / "none")),
        (AskonceError, "name the file or folder", ("csv",)),
        (ConfigError, "--columns is for csv", ("jsonl", dump, "--columns", "title=x")),
        (ConfigError, "expected field=Column", ("csv", dump, "--columns", "title")),
        (AskonceError, "no column", ("csv", dump, "--columns", "title=x")),
    ]
    for kind, message, arguments in wrong:
        with pytest.raises(kind, match=message):
            run("import", *arguments, "--into", archive)
        assert not archive.exists()
    with pytest.raises(AskonceError, match="line 3"):
        run("import", "jsonl", dump, "--into", archive, "--strict")
    with pytest.raises(ConfigError, match="no format 'xml'"):
        run("export", archive, "--format", "xml", "--out", tmp_path / "out")


@pytest.mark.parametrize(
    "hits, text",
    [
        ([(0.8, True, True), (0.36, False, True)], "Already asked: 1 of these is likely the same."),
        ([(0.36, False, True), (0.01, False, False)], "Not clearly asked before: 1 of these comes"),
        ([(0.01, False, False)], "Nothing close was asked before."),
    ],
)
def test_close_questions_are_told_from_remote_ones(hits, text):
    names = "duplicate_probability", "claimed", "close"
    shown = verdict([SimpleNamespace(**dict(zip(names, hit, strict=True))) for hit in hits])
    assert shown.startswith(text)
