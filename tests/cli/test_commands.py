"""The commands as a user runs them."""

import json
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def csv_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    lines = ["question,answer,label"]
    for n in range(6):
        lines += [f"how to fix part{n},glue part{n} on,1", f"how to fix part{n},sell it,0"]
    for split in ("train", "dev", "test"):
        (folder / f"{split}.csv").write_text("\n".join(lines))
    return folder


def test_help_needs_nothing_heavy(askonce_process):
    code = "import sys, askonce.cli; sys.exit(any(m in sys.modules for m in ('torch', 'numpy')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    shown = askonce_process("--help")
    assert shown.returncode == 0
    for verb in ("ask", "bench", "convert", "datasets", "evaluate", "models", "stats"):
        assert verb in shown.stdout


def test_version(askonce):
    from askonce import __version__

    assert askonce("--version").stdout.strip() == __version__


def test_stats_as_json(askonce, csv_folder):
    shown = json.loads(askonce("stats", "csv", "--data", csv_folder, "--json").stdout)
    counts = {"questions": 6, "pairs": 12, "positives": 6, "with_positive": 6}
    assert shown["dataset"] == "csv"
    assert shown["splits"]["test"] == counts


def test_bench_prints_a_table_and_writes_figures(askonce, csv_folder, tmp_path):
    out, store = tmp_path / "figures.json", tmp_path / "store"
    command = ("bench", "csv", "--data", csv_folder, "--models", "random,bm25", "--out", store)
    shown = askonce(*command, "--json", out)  # as it was called
    assert shown.returncode == 0, shown.stderr
    assert "bm25" in shown.stdout
    rows = json.loads(out.read_text())
    assert json.loads(askonce(*command, "--json").stdout) == rows
    figures = {row["model"]: row["metrics"]["MAP"]["mean"] for row in rows}
    assert figures["bm25"] == 1.0
    assert figures["random"] == pytest.approx(0.75)
    run, qrels = store / "csv" / "bm25" / "1" / "runs" / "test.run.gz", store / "csv/test.qrels.gz"
    report = askonce("evaluate", "--qrels", qrels, "--run", run, "--json")
    shown = json.loads(report.stdout)
    assert shown["queries"] == 6
    perfect = {"MAP": 1.0, "MRR": 1.0, "P@1": 1.0, "P@5": 0.2, "nDCG@10": 1.0}
    assert shown["metrics"] == pytest.approx(perfect)


def test_convert_makes_a_beir_folder(askonce, csv_folder, tmp_path):
    into = ("--out", tmp_path / "beir")
    assert askonce("convert", "csv", "--data", csv_folder, *into).returncode == 0
    shown = askonce("stats", "beir", "--data", tmp_path / "beir", "--json")
    assert json.loads(shown.stdout)["splits"]["dev"]["pairs"] == 12
    again = askonce("convert", "csv", tmp_path / "beir", "--data", csv_folder)  # as it was called
    assert again.returncode == 2
    assert "note: write `--out " in again.stderr
    assert "exists and is not empty" in again.stderr


SOURCE = ("url", "author", "author_url", "site", "licence")


def test_ask_the_built_in_archive(askonce):
    shown = json.loads(askonce("ask", "bicycles", "squealing disc brakes", "--json").stdout)
    assert list(shown["similar"][0]) == [
        *("id", *SOURCE, "title", "score", "duplicate_probability", "claimed", "close"),
        *("duplicate_of", "duplicate_of_title", "matched", "pinned", "folded"),
        *("answers", "accepted", "stages", "words"),
    ]
    assert list(shown["answers"][0]) == [
        *("id", *SOURCE, "question_id", "question_title", "thread", "thread_title"),
        *("text", "score", "votes", "accepted", "stages", "words"),
    ]
    assert "Similar questions" in askonce("ask", "bicycles", "squealing disc brakes").stdout


@pytest.mark.parametrize("verb", ["datasets", "models"])
def test_lists_are_json_too(askonce, verb):
    rows = json.loads(askonce(verb, "--json").stdout)
    assert all(row["name"] and row["about"] for row in rows)
    plain = askonce(verb).stdout
    assert all(row["name"] in plain for row in rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("stats", "trekqa", "--data", "."),
            "no dataset is called 'trekqa'; did you mean 'trecqa'",
        ),
        (("stats", "trecqa", "--data", "nowhere"), "no folder 'nowhere'"),
        (("bench", "csv", "--data", ".", "--models", "bm52"), "no model is called 'bm52'"),
        (("ask", "nowhere", "why"), "no archive 'nowhere'"),
        (("ask", "bicycles", " "), "the question is empty"),
        (("evaluate", "--qrels", "nope", "--run", "nope"), "nope"),
    ],
)
def test_a_users_error_is_one_line_and_exit_2(refused, arguments, message, csv_folder, monkeypatch):
    monkeypatch.chdir(csv_folder)
    said, code = refused(*arguments)
    assert code == 2
    assert message in said
    assert len(said.strip().splitlines()) == 1


def test_debug_shows_the_traceback(askonce_process, refused):
    assert "Traceback" in askonce_process("--debug", "ask", "nowhere", "why").stderr
    assert "Traceback" not in refused("ask", "nowhere", "--", "--debug")[0]


def test_nan_scores_are_refused(askonce, tmp_path):
    (tmp_path / "run").write_text("q Q0 d 1 nan tag\n")
    (tmp_path / "qrels").write_text("q 0 d 1\n")
    shown = askonce("evaluate", "--qrels", tmp_path / "qrels", "--run", tmp_path / "run")
    assert shown.returncode == 2
    assert "line 1" in shown.stderr


def test_a_qrels_file_of_another_collection(askonce, tmp_path):
    (tmp_path / "run").write_text("q Q0 d 1 1.5 tag\n")
    (tmp_path / "qrels").write_text("other 0 d 1\n")
    shown = askonce("evaluate", "--qrels", tmp_path / "qrels", "--run", tmp_path / "run")
    assert shown.returncode == 2
    assert "'other'" in shown.stderr


@pytest.mark.parametrize(
    ("jobs", "limit", "expected"),
    [(1, "", (1, 4)), (2, "", (2, 2)), (None, "", (4, 1)), (1, "1", (1, 1)), (9, "3", (9, 1))],
)
def test_a_bench_shares_the_cores_and_respects_a_limit_of_threads(
    monkeypatch, jobs, limit, expected
):
    from askonce.cli.benchmarks.bench import _shares

    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2, 3})
    monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert _shares(jobs) == expected
