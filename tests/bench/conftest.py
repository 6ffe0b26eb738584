"""A small dataset and recipes for benches."""

from pathlib import Path

import pytest

from askonce.bench.setup import Setup

RECIPE = """# small
dataset = "csv"

[model]
name = "{model}"
dim = 12

[text]
vectors = "random"
dim = 12

[train]
epochs = {epochs}
patience = 100
batch_size = 4
optimiser = "adagrad"
rate = 0.1
"""
WRONG = ("sell it soon", "ask the shop about wheels", "wait until spring comes")


def write_split(path: Path, questions: int, flipped: bool = False) -> None:
    """Questions with a right answer that shares their rarest word, and wrong ones."""
    lines = ["question,answer,label"]
    for n in range(questions):
        right, wrong = (0, 1) if flipped else (1, 0)
        lines.append(f"how to fix part{n} today,glue part{n} on,{right}")
        lines += [f"how to fix part{n} today,{text} {n},{wrong}" for text in WRONG]
    path.write_text("\n".join(lines))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with data/, recipes/ and room for a store."""
    (tmp_path / "data").mkdir()
    for split, questions in (("train", 12), ("dev", 8), ("test", 10)):
        write_split(tmp_path / "data" / f"{split}.csv", questions)
    (tmp_path / "recipes" / "csv").mkdir(parents=True)
    write_recipe(tmp_path, "hyperqa")
    return tmp_path


@pytest.fixture
def setup(place: Path) -> Setup:
    """Where a bench in that folder finds things."""
    return Setup(place / "data", place / "store", place / "recipes")


def write_recipe(place: Path, model: str, more: str = "", epochs: int = 3) -> Path:
    """A recipe of recipes/csv."""
    path = place / "recipes" / "csv" / f"{model}.toml"
    path.write_text(RECIPE.format(model=model, epochs=epochs) + more)
    return path


@pytest.fixture
def recipe_writer():
    """To change a recipe."""
    return write_recipe


@pytest.fixture
def split_writer():
    """To change a split."""
    return write_split
