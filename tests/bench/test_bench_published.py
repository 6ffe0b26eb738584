"""Published numbers: what they say, and that no row is compared with another condition."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from askonce.bench.report.published import (
    Conditions,
    plain_name,
    published,
    published_tables,
)
from askonce.bench.report.results import Result, features, tables
from askonce.bench.report.table import result_table
from askonce.bench.store import Store, write_json
from askonce.config import as_dict
from askonce.evaluation import METRICS
from askonce.training.recipe import read_recipe

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes").glob("*/*.toml"))
RAW = Conditions("trecqa", "trec", 1517, "train-all", frozenset({"overlap"}))
CLEAN = replace(RAW, protocol="clean", test_pairs=1442, features=frozenset())
WIKI = Conditions("wikiqa", "drop_no_pos", 6165, "train", frozenset())


def test_a_number_under_the_same_conditions_is_compared():
    assert published(RAW, "ctrn", "MRR").value == 0.8384
    assert published(RAW, "ctrn", "MRR").unlike == ()
    small = replace(RAW, train="train")
    assert published(small, "ctrn@train.split=train", "MAP").text == "0.758"
    assert published(CLEAN, "hyperqa", "MAP").text == "0.784"
    assert published(replace(RAW, features=frozenset()), "hyperqa", "MAP").text == "0.770"
    assert published(WIKI, "cabin@model.jump=false", "MRR").value == 0.7415
    assert published(WIKI, "svm", "MAP") is None


@pytest.mark.parametrize(
    ("ours", "model", "metric", "reason"),
    [
        (replace(RAW, features=frozenset({"overlap", "flags"})), "ctrn", "MAP",
         "features overlap, not flags and overlap"),
        (replace(CLEAN, features=frozenset({"overlap"})), "attentive-lstm", "MAP",
         "features none, not overlap"),
        (replace(RAW, features=frozenset()), "cabin", "MAP", "trained on train, not train-all"),
        (replace(WIKI, features=None, weights="minilm"), "cross-encoder", "MAP",
         "weights of BERT, not minilm"),
        (Conditions("insuranceqa", "trec", 1, "train", frozenset()), "qa-lstm", "P@1",
         "on InsuranceQA V1"),
        (Conditions("travel", "drop_no_pos", 1, "train", frozenset()), "rcnn", "MAP",
         "on AskUbuntu"),
        (Conditions("semeval-a", "drop_no_pos", 3150, "train", frozenset()), "hyperqa-concat",
         "MAP", "on 3270 test pairs, not 3150"),
    ],
)  # fmt: skip
def test_a_number_under_another_condition_is_in_brackets(ours, model, metric, reason):
    number = published(ours, model, metric)
    assert number.unlike == (reason,)
    assert number.text == f"({number.value:.3f})"


def test_a_number_on_other_questions_is_not_shown():
    assert published(CLEAN, "ctrn", "MAP") is None


def test_the_file_names_rows_as_a_bench_does():
    for table in published_tables():
        assert all(len(values) == len(table.metrics) for values in table.rows.values())
        assert set(table.metrics) <= set(METRICS)
        assert all(0 < value < 1 for values in table.rows.values() for value in values)
        assert all(plain_name(model) == model for model in table.rows)


def like(ours: Conditions, model: str) -> set[float]:
    """The values of tables whose stated conditions are all the same as ours, written plainly."""
    same = set()
    for table in published_tables():
        stated = [
            (table.dataset, ours.dataset),
            (table.protocol, ours.protocol),
            (table.test_pairs, ours.test_pairs),
            (table.train, ours.train),
            (None if table.features is None else set(table.features), ours.features),
            (table.weights, ours.weights),
        ]
        if all(theirs is None or own is None or theirs == own for theirs, own in stated):
            same |= set(table.rows.get(plain_name(model), ()))
    return same


SPLITS = {"trecqa": (("trec", 1517), ("clean", 1442)), "wikiqa": (("drop_no_pos", 6165),)}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_recipe_is_compared_with_another_condition(path):
    row = {"recipe": as_dict(read_recipe(path))}
    default = "train-all" if path.parent.name == "trecqa" else "train"
    train = row["recipe"]["train"]["split"] or default
    for protocol, pairs in SPLITS.get(path.parent.name, (("drop_no_pos", 0),)):
        ours = Conditions(path.parent.name, protocol, pairs, train, features(row))
        for metric in METRICS:
            number = published(ours, path.stem, metric)
            if number is not None:
                assert (not number.unlike) == (number.value in like(ours, path.stem))


def test_the_summary_compares_only_with_like():
    """Of stored figures: rows that the summary compares have the paper's conditions."""
    for entry in json.loads((ROOT / "docs/results/summary.json").read_text()):
        recipe, *changes = entry["model"].split("@")
        path = ROOT / "recipes" / entry["dataset"] / f"{recipe}.toml"
        if entry["paper"] is None or not path.is_file():
            continue
        row = {"recipe": as_dict(read_recipe(path, changes))}
        default = "train-all" if entry["dataset"] == "trecqa" else "train"
        pairs = dict(SPLITS.get(entry["dataset"], ())).get(entry["protocol"], 0)
        train = row["recipe"]["train"]["split"] or default
        ours = Conditions(entry["dataset"], entry["protocol"], pairs, train, features(row))
        number = published(ours, entry["model"], entry["metric"])
        assert number is not None
        assert not number.unlike, (entry["dataset"], entry["model"], number)


def test_conditions_come_from_the_stored_settings(tmp_path):
    store = Store.make(tmp_path / "store", quick=False)
    recipe = as_dict(read_recipe(ROOT / "recipes/trecqa/ctrn.toml", ["train.split=train"]))
    data = {"train": [93, 4718], "train-all": [1229, 53417], "test-raw": [95, 1517]}
    record = {
        "dataset": "trecqa", "model": "ctrn@train.split=train", "seed": 1, "kind": "trained",
        "settings": {"data": data, "row": {"recipe": recipe}},
        "figures": {"test-raw": {"protocol": "trec", "dev": False, "queries": 1,
                    "tied_positives": 0, "metrics": dict.fromkeys(METRICS, 0.7)}},
        "facts": {"seconds": 1.0, "cpu_seconds": 1.0}, "versions": {}, "finished": "2026",
    }  # fmt: skip
    folder = store.cell_folder("trecqa", "ctrn@train.split=train", 1)
    folder.mkdir(parents=True)
    write_json(folder / "cell.json", record)
    write_json(folder / "per_query.json", {"test-raw": {"q": [0.7] * len(METRICS)}})
    (table,) = tables(store)
    result: Result = table.results[0]
    options = {name for name in ("overlap", "flags") if recipe["options"].get(name)}
    assert result.conditions == Conditions("trecqa", "trec", 1517, "train", frozenset(options))
    block = result_table(table)
    assert block.rows[0][2] == ("0.758" if options == {"overlap"} else "(0.758)")
