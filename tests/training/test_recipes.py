"""The recipes that come with the project can all be read, and stand where their dataset is."""

from pathlib import Path

import pytest

from askonce.config import settings
from askonce.data.benchmarks import DATASETS
from askonce.training.distillation.settings import DistilSettings, PairDistilSettings
from askonce.training.recipe import by_pairs, read_before, read_recipe
from askonce.training.tuning import read_space

RECIPES = sorted((Path(__file__).parents[2] / "recipes").rglob("*.toml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recipe_is_whole(path):
    recipe = read_recipe(path)
    before = read_before(path)
    if path.stem.startswith("student"):  # of any model: the one that dev prefers
        assert before.distil is not None
        kind = PairDistilSettings if by_pairs(before.distil) else DistilSettings
        settings(kind, before.distil, "distil.")
    else:
        assert before.distil is None
        # the same over another teacher's vectors, or over its words
        assert recipe.model == path.stem.removesuffix("-mpnet").removeprefix("contextual-")
        assert (recipe.text.vectors == "contextual") == path.stem.startswith("contextual-")
    assert recipe.dataset == path.parent.name
    assert recipe.dataset in DATASETS
    assert path.read_text().startswith("# "), "a recipe begins with where its numbers come from"


@pytest.mark.parametrize(
    "path", [path for path in RECIPES if "[tune]" in path.read_text()], ids=lambda path: path.stem
)
def test_every_value_of_a_range_is_allowed(path):
    for key, values in read_space(path).items():
        for value in values:
            read_recipe(path, [f"{key}={value}"])


@pytest.mark.parametrize("path", [path for path in RECIPES if path.stem == "cosineqa"])
def test_margins_of_cosines_lie_between_0_and_1(path):
    margins = [read_recipe(path).train.margin, *read_space(path).get("train.margin", [])]
    assert all(0 < margin <= 1 for margin in margins)
