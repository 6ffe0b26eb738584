"""Stored learning curves: no row of the documents was stopped while it still learned."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from askonce.bench.report.figures import FIGURES
from askonce.bench.report.histories import histories, joined, still_rising
from askonce.bench.report.results import tables
from askonce.bench.report.table import result_table
from askonce.bench.store import Store, write_json
from askonce.cli import app
from askonce.evaluation import METRICS

CURVES = Path(__file__).parents[2] / "docs/results/curves.json"


@pytest.mark.parametrize(
    ("dev", "limit", "rising"),
    [
        ([0.1, 0.3, 0.4, 0.5, 0.6], 4, True),  # at its limit, the last is the best
        ([0.1, 0.5, 0.733, 0.734, 0.7381, 0.7398, 0.7385], 6, True),  # slowly but steadily
        ([0.1, 0.3, 0.6, 0.601, 0.6, 0.604], 5, False),  # rises less than noise
        ([0.1, 0.6, 0.5, 0.5, 0.5], 4, False),  # was best long before
        ([0.1, 0.3, 0.5, 0.4, 0.6], 8, False),  # ended before its limit
        ([0.7, 0.5, 0.5, 0.6], 3, False),  # training did not help
        ([0.1], 0, False),
    ],
)
def test_a_run_that_ends_at_its_limit_may_still_rise(dev, limit, rising):
    assert still_rising(dev, limit) is rising


def test_no_row_of_the_documents_was_stopped_while_dev_rose():
    stored = json.loads(CURVES.read_text())
    early = [
        (entry["dataset"], entry["model"], entry["seed"])
        for entry in stored
        if still_rising(entry["dev"], entry["limit"])
    ]
    assert stored
    assert early == []


def put(store, model, dev, limit, dataset="semeval-a"):
    folder = store.cell_folder(dataset, model, 1)
    (folder / "ranker").mkdir(parents=True)
    figures = {"protocol": "drop_no_pos", "dev": False, "queries": 3, "tied_positives": 0}
    recipe = {"model": model, "options": {}, "train": {"split": None, "epochs": limit}}
    record = {
        "dataset": dataset, "model": model, "seed": 1, "kind": "trained",
        "settings": {"data": {"test": [4, 40]}, "row": {"recipe": recipe}},
        "figures": {"test": figures | {"metrics": dict.fromkeys(METRICS, 0.8)}},
        "facts": {"seconds": 1.0, "cpu_seconds": 1.0}, "versions": {}, "finished": "2026",
    }  # fmt: skip
    write_json(folder / "cell.json", record)
    write_json(folder / "per_query.json", {"test": {f"q{n}": [0.8] * 5 for n in range(3)}})
    lines = [{"epoch": n, "dev": dict.fromkeys(METRICS, value)} for n, value in enumerate(dev)]
    (folder / "ranker" / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))


def test_a_report_says_which_rows_ended_too_early(tmp_path):
    store = Store.make(tmp_path / "store", quick=False)
    put(store, "ctrn", [0.1, 0.5, 0.6, 0.7], 3)
    put(store, "qrnn", [0.1, 0.7, 0.6, 0.5], 3)
    (table,) = tables(store)
    notes = result_table(table).notes
    assert [note for note in notes if "limit" in note] == [
        "Reached the limit of epochs while dev rose: ctrn."
    ]
    assert histories(store)[0] == {
        "dataset": "semeval-a", "model": "ctrn", "seed": 1, "metric": "MAP", "limit": 3,
        "dev": [0.1, 0.5, 0.6, 0.7],
    }  # fmt: skip


def test_the_official_protocol_counts_all_questions(tmp_path):
    store = Store.make(tmp_path / "store", quick=False)
    put(store, "ctrn", [0.1], 1)
    (block,) = FIGURES["official-protocol"](store)
    assert block.header[1:3] == ["MAP, 3 questions", "MAP, 4 questions"]
    assert block.rows == [["ctrn", "0.800", "0.600", "0.800", "0.600"]]
    put(store, "hyperqa", [0.1], 1, dataset="wikiqa")
    assert len(FIGURES["official-protocol"](store)) == 1


def test_epochs_of_other_rows_are_kept():
    def entry(model, seed, *dev):
        return {"dataset": "wikiqa", "model": model, "seed": seed, "dev": list(dev)}

    now, before = [entry("ctrn", 2, 0.7)], [entry("ctrn", 2, 0.6), entry("cabin", 1, 0.5)]
    assert joined(now, before) == [entry("cabin", 1, 0.5), entry("ctrn", 2, 0.7)]


def test_the_command_keeps_them_where_earlier_rows_are_kept(tmp_path):
    store, curves, summary = tmp_path / "store", tmp_path / "curves.json", tmp_path / "s.json"
    put(Store.make(store, quick=False), "ctrn", [0.1, 0.2], 2)
    command = ["report", str(store), "--out", str(curves), "--out", str(summary)]
    assert CliRunner().invoke(app, command).exit_code == 0
    put(other := Store.make(tmp_path / "other", quick=False), "qrnn", [0.3, 0.4], 2)
    command[1] = str(tmp_path / "other")
    assert CliRunner().invoke(app, [*command, "--earlier", str(summary)]).exit_code == 0
    assert [x["model"] for x in json.loads(curves.read_text())] == ["ctrn", "qrnn"]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert json.loads(curves.read_text()) == histories(other)
