"""Own data without a recipe: default recipes, damaged lines skipped on request."""

import pytest

from askonce.bench.plan import Bench, default_names, row_of
from askonce.bench.run import run_bench
from askonce.data.benchmarks import load_dataset
from askonce.errors import DataError
from askonce.files import skipping_damaged
from askonce.models import MODELS
from askonce.training.defaults import ROWS, default_recipe
from askonce.training.recipe import read_before, read_recipe
from tests.bench.conftest import write_split


@pytest.mark.parametrize("model", MODELS.names())
def test_every_model_has_a_default_recipe(model):
    path, changes = default_recipe(model)
    recipe = read_recipe(path, changes)
    assert recipe.model == MODELS.resolve(model)
    assert recipe.dataset is None
    assert recipe.text.vectors == "starter" or MODELS[model].reads == "vectors"


def test_the_student_is_a_recipe_too():
    path, changes = default_recipe("student")
    assert read_recipe(path, changes).model == "bag"
    assert read_before(path).distil["teacher"] == "minilm"
    assert default_recipe("nothing") is None


def test_a_dataset_without_recipes_gets_default_rows(tmp_path):
    names = default_names("csv", tmp_path / "none", 10)
    assert set(ROWS) < set(names)
    row = row_of("hyperqa@model.dim=7", "csv", tmp_path)
    assert row.label == "hyperqa@model.dim=7"
    assert row.recipe.options["dim"] == 7
    assert row_of("ctrn", "csv", tmp_path).recipe.model == "ctrn"


def test_a_bench_without_recipes(setup, workspace):
    (workspace / "recipes" / "csv" / "hyperqa.toml").unlink()
    store = run_bench(Bench(setup, ["csv"], ["hyperqa@train.epochs=1"], jobs=0), lambda line: None)
    (cell,) = store.cells("csv")
    assert cell.figures["test"]["metrics"]["MAP"] > 0.3


LINES = """question,answer,label
how,this way,1
how,that way,0
how,,1
how,so,maybe
how,this way,0
why,since,1,2
why,because,1
"""


def test_damaged_lines_are_skipped_on_request(tmp_path):
    (tmp_path / "train.csv").write_text(LINES)
    with pytest.raises(DataError, match="line 4"):
        load_dataset("csv", tmp_path)
    with skipping_damaged() as errors:
        dataset = load_dataset("csv", tmp_path)
    assert [error.line for error in errors] == [4, 5, 6, 7]
    pools = {
        pool.query.text: dict(zip(map(str, pool.candidates), pool.labels, strict=True))
        for pool in dataset.split("train")
    }
    assert {query: len(pool) for query, pool in pools.items()} == {"how": 2, "why": 1}
    with pytest.raises(DataError):  # afterwards they are errors again
        load_dataset("csv", tmp_path)


def test_damaged_lines_of_jsonl(tmp_path):
    (tmp_path / "train.jsonl").write_text(
        '{"question": "how", "answer": "so", "label": 1}\n{"question": 3}\n{broken\n'
        '{"question": "why", "candidates": [{"text": "since", "label": 0}, 7]}\n'
    )
    with skipping_damaged() as errors:
        dataset = load_dataset("jsonl", tmp_path)
    assert [error.line for error in errors] == [2, 3, 4]
    assert [pool.query.text for pool in dataset.split("train")] == ["how"]


def test_errors_name_texts(tmp_path):
    (tmp_path / "train.csv").write_text("question,answer,label\nhow,this way,1\nhow,this way,0\n")
    with pytest.raises(DataError, match=r"each candidate of 'how' once.*'this way' again"):
        load_dataset("csv", tmp_path)


def test_a_bench_says_what_it_skipped(setup, workspace):
    from dataclasses import replace

    write_split(workspace / "data" / "test.csv", 6)
    with (workspace / "data" / "test.csv").open("a") as file:
        file.write("\nhow,,1\n")
    said = []
    lenient = replace(setup, skip_damaged=True)
    run_bench(Bench(lenient, ["csv"], ["bm25"], jobs=0), said.append)
    assert any("csv: 1 damaged lines were skipped:" in line for line in said)
