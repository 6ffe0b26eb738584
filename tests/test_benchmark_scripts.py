"""The scripts whose figures the documentation shows still run; small forms of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "benchmarks"


def run(tmp_path, script, *options):
    path = tmp_path / "figures.json"
    command = [sys.executable, str(SCRIPTS / script), *map(str, options), "--json", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    return ran, json.loads(path.read_text()) if path.is_file() else None


def test_a_typo_is_forgiven(tmp_path):
    ran, figures = run(tmp_path, "typos.py", "--seeds", 1)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = figures["MRR"]
    assert found["with a typo"] < found["with a typo, forgiven"] <= found["as written"]


@pytest.mark.slow
def test_kills_lose_nothing(tmp_path):
    ran, figures = run(tmp_path, "faults.py", "--kills", 8)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert figures["kills"] >= 8  # one of each operation


@pytest.mark.slow
def test_queries_in_a_row_end_in_time(tmp_path):
    forum = ("--posts", 200, "--folder", tmp_path / "forum.askonce")
    ran, figures = run(tmp_path, "load.py", "--queries", 200, *forum)
    assert figures is not None, ran.stderr[-2000:]
    assert figures["queries"] == 200
    ran, figures = run(tmp_path, "load.py", "--queries", 10**7, "--minutes", 0.05, *forum)
    assert ran.returncode == 1  # cut short is not passed
    assert 0 < figures["queries"] < 10**7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("precision", "cosine"), [("float32", 0.999), ("bfloat16", 0.999), ("int8", 0.997)]
)
def test_the_teacher_reads_as_sentence_transformers_does(tmp_path, precision, cosine):
    ran, figures = run(tmp_path, "teacher.py", "--texts", 20, "--precision", precision)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert figures["lowest_cosine"] > cosine


@pytest.mark.slow
def test_speeds_of_all_models_are_measured(tmp_path):
    ran, figures = run(tmp_path, "speed.py", "--quick")
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert {"hyperqa_vs_mp_cnn", "hyperqa_vs_ap_bilstm"} <= figures["ratios"].keys()
    assert {"ctrn", "mp-cnn", "elmo"} <= figures["growth"].keys()


@pytest.mark.slow
def test_the_memory_of_several_archives_is_measured(tmp_path):
    ran, figures = run(tmp_path, "several.py", "--posts", 60, "--archives", 1, 2)
    assert ran.returncode == 0, ran.stderr[-2000:]
    for measured in figures.values():
        assert measured["2 archives"]["rss_mb"] > measured["2 archives"]["own_mb"] > 20
        assert -50 < measured["each_more_mb"]["own_mb"] < 200


@pytest.mark.slow
def test_two_versions_answer_in_turns(tmp_path):
    ran, figures = run(tmp_path, "serve.py", "--posts", 60, "--compare", SCRIPTS.parent)
    assert figures is not None, ran.stderr[-2000:]
    assert figures["processor_ms"].keys() == {"this", "other"}
    assert all(0.2 < ratio < 5 for ratio in figures["this_by_other"].values())


@pytest.mark.parametrize("direction", [1, -1])
def test_the_order_of_systems_is_compared_within_a_table(tmp_path, direction):
    """CTRN's table 6 has each system twice, trained on TRAIN and on TRAIN-ALL, in another order."""
    on_all = {"ctrn": 0.77, "qrnn": 0.76, "hd-lstm": 0.75, "lstm-mlp": 0.735, "cntn": 0.728}
    shared = {"dataset": "trecqa", "protocol": "trec", "metric": "MAP"}
    entries = [
        {**shared, "model": name, "mean": direction * value, "low": 0.0, "high": 0.0}
        for name, value in on_all.items()
    ]
    path = tmp_path / "summary.json"
    path.write_text(json.dumps(entries))
    ran, figures = run(tmp_path, "order.py", path)
    assert ran.returncode == 0, ran.stderr[-2000:]
    whole = figures["datasets"][0]
    assert (whole["pairs"], whole["tau"], whole["interval"]) == (10, direction, [direction] * 2)
    assert [table["train"] for table in figures["tables"]] == ["train-all"]
