"""A small dataset and recipes for benches, and a store of small rankers to look into."""

from pathlib import Path

import numpy as np
import pytest
import torch

from askonce.bench.data import Setup
from askonce.bench.report.inside import scenes
from askonce.bench.store import Store, write_json
from askonce.evaluation import METRICS, evaluate, pools_to_qrels, pools_to_run, write_run
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon

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
ROWS = {
    "hyperqa": ("hyperqa", {"dim": 8}),
    "hyperqa@model.dim=4": ("hyperqa", {"dim": 4}),
    "cosineqa": ("cosineqa", {"dim": 8}),
    "rcnn": ("rcnn", {"dim": 5}),
    "rcnn@model.gate=scalar": ("rcnn", {"dim": 5, "gate": "scalar"}),
    "ctrn": ("ctrn", {"projection": 6, "dim": 4, "hidden": 4}),
    "attentive-lstm": ("attentive-lstm", {"hidden": 3}),
    "ap-cnn": ("ap-cnn", {"filters": 4}),
    "compare-aggregate": ("compare-aggregate", {"dim": 4}),
    "cabin": ("cabin", {"hidden": 3, "similarity": 4}),
    "cabin@model.jump=false": ("cabin", {"hidden": 3, "similarity": 4, "jump": False}),
}


def write_split(path: Path, questions: int, flipped: bool = False) -> None:
    """Questions with a right answer that shares their rarest word, and wrong ones."""
    lines = ["question,answer,label"]
    for n in range(questions):
        right, wrong = (0, 1) if flipped else (1, 0)
        lines.append(f"how to fix part{n} today,glue part{n} on,{right}")
        lines += [f"how to fix part{n} today,{text} {n},{wrong}" for text in WRONG]
    path.write_text("\n".join(lines))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with data/, recipes/ and room for a store."""
    (tmp_path / "data").mkdir()
    for split, questions in (("train", 12), ("dev", 8), ("test", 10)):
        write_split(tmp_path / "data" / f"{split}.csv", questions)
    (tmp_path / "recipes" / "csv").mkdir(parents=True)
    write_recipe(tmp_path, "hyperqa")
    return tmp_path


@pytest.fixture
def setup(workspace: Path) -> Setup:
    """Where a bench in that folder finds things."""
    return Setup(workspace / "data", workspace / "store", workspace / "recipes")


def write_recipe(workspace: Path, model: str, more: str = "", epochs: int = 3) -> Path:
    """A recipe of recipes/csv."""
    path = workspace / "recipes" / "csv" / f"{model}.toml"
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


def stir(ranker):
    """Weights large enough to matter, the word vectors left alone."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, weight in ranker.model.named_parameters():
            if not name.startswith("words."):
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.7)


def put(store, dataset, row):
    """A finished cell whose ranker has random weights, with what it really ranks."""
    model, options = ROWS[row]
    lexicon = Lexicon.build(pool.query for pool in dataset.splits["test"])  # answers have others
    vectors = np.random.default_rng(3).normal(size=(len(lexicon.vocabulary), 6))
    ranker = Ranker.create(model, lexicon, vectors.astype(np.float32), options)
    stir(ranker)
    folder = store.cell_folder("csv", row, 1)
    (folder / "runs").mkdir(parents=True)
    ranker.save(folder / "ranker")
    pools = dataset.splits["test"]
    run = pools_to_run(pools, ranker.score_pools(pools))
    write_run(folder / "runs" / "test.run.gz", run)
    report = evaluate(pools_to_qrels(pools), run)
    values = {q: [actual[m] for m in METRICS] for q, actual in report.per_query.items()}
    write_json(folder / "per_query.json", {"test": values})
    figures = {"protocol": "trec", "dev": False, "queries": report.queries}
    figures |= {"metrics": report.metrics, "tied_positives": report.tied_positives}
    record = {
        "dataset": "csv", "model": row, "seed": 1, "kind": "trained",
        "settings": {"row": {"recipe": {"model": model, "options": options}}},
        "figures": {"test": figures}, "facts": {"seconds": 1.0, "cpu_seconds": 1.0},
        "versions": {}, "finished": "2026-01-01",
    }  # fmt: skip
    write_json(folder / "cell.json", record)


@pytest.fixture
def put_cell():
    """To add a cell to a store."""
    return put


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """A store with a small row of every model that a figure looks into."""
    workspace = tmp_path_factory.mktemp("inside")
    (workspace / "data").mkdir()
    lines = ["question,answer,label"]
    for n in range(9):
        question = f"how do i mend part {n} of my <old> bike"
        lines.append(f"{question},glue part {n} of it and wait for {n} days,1")
        lines.append(f"{question},of course you can mend part {n},{n % 2}")
        lines += [f"{question},do not ask me how {word} {n},0" for word in ("wheels", "my bike")]
    for split in ("dev", "test"):
        (workspace / "data" / f"{split}.csv").write_text("\n".join(lines))
    made = Store.make(workspace / "store", quick=False)
    made.remember_data("csv", workspace / "data")
    for row in ROWS:
        put(made, made.dataset("csv"), row)
    return made


@pytest.fixture(scope="session")
def scene(store):
    (actual,) = scenes(store)
    return actual
