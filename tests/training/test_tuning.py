"""The search over a recipe's ranges starts from the same weights as training would."""

import json

import pytest
from safetensors.torch import load_file

from askonce.ranker import Ranker
from askonce.training.events import Phase, ignore
from askonce.training.tuning import tune

RECIPE = """
dataset = "made"

[model]
name = "rcnn"
dim = 8

[text]
vectors = "random"
dim = 8

[train]
epochs = 1
rate = 1e-9

[pretrain]
epochs = 3
rate = 0.05

[tune]
"train.batch_size" = [2, 3]
"""


@pytest.fixture
def recipe(tmp_path):
    pytest.importorskip("optuna")
    path = tmp_path / "rcnn.toml"
    path.write_text(RECIPE)
    return path


def test_a_recipe_with_a_pretrain_table_is_pretrained_once(small, recipe, tmp_path):
    events = []
    result = tune(recipe, [], small.made(), None, tmp_path / "search", 2, events.append)
    (folder,) = (tmp_path / "search").glob("pretrained-*")  # the trials differ in batches only
    assert len([event for event in events if isinstance(event, Phase)]) == 2
    lines = (folder / "pretraining.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [0, 1, 2, 3]
    assert Ranker.load(folder).card["epoch"] > 0, "or this says nothing about the start"
    start = load_file(folder / "model.safetensors")
    tuned = load_file(tmp_path / "search" / "trial-0" / "model.safetensors")
    assert start.keys() == tuned.keys()
    assert max(float((start[key] - tuned[key]).abs().max()) for key in start) < 1e-6
    assert result["trials"] == 2


def test_pretraining_can_be_left_out(small, recipe, tmp_path):
    tune(recipe, ["pretrain=false"], small.made(), None, tmp_path / "search", 1, ignore)
    assert not list((tmp_path / "search").glob("pretrained-*"))
