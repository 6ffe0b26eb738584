"""Train, pre-train and tune as a user runs them."""

import json

import pytest

RECIPE = """
dataset = "csv"

[model]
name = "hyperqa"
dim = 16

[text]
vectors = "random"
dim = 16

[train]
epochs = 3
batch_size = 4
optimiser = "adagrad"
rate = 0.1

[tune]
"train.rate" = [0.1, 0.01]
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    lines = ["question,answer,label"]
    for n in range(12):
        lines += [f"how to fix part{n},glue part{n} on,1", f"how to fix part{n},sell it soon,0"]
    for split in ("train", "dev", "test"):
        (folder / f"{split}.csv").write_text("\n".join(lines))
    (folder / "hyperqa.toml").write_text(RECIPE)
    return folder


def test_train_then_use_the_ranker(askonce, workspace, tmp_path):
    shown = askonce(
        "train-recipe",
        workspace / "hyperqa.toml",
        "--data",
        workspace,
        "--out",
        tmp_path / "run",
        "--json",
    )
    assert shown.returncode == 0, shown.stderr
    summary = json.loads(shown.stdout)
    assert set(summary["figures"]["dev"]) == {"hyperqa", "bm25"}
    assert summary["best_epoch"] >= 1
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 4

    from askonce import Ranker

    assert len(Ranker.load(tmp_path / "run").rank("fix part3", ["glue part3 on", "sell"])) == 2
    changed = askonce(
        "train-recipe", workspace / "hyperqa.toml", "--data", workspace, "--out", tmp_path / "run",
        "--set", "train.rate=0.5",
    )  # fmt: skip
    assert changed.returncode == 2
    assert "other settings (train.rate)" in changed.stderr


def test_the_old_spelling_trains_a_recipe_and_notes_the_new_one(askonce, workspace, tmp_path):
    shown = askonce(
        "train", workspace / "hyperqa.toml", "--data", workspace, "--out", tmp_path / "run",
        "--set", "train.epochs=1", "--json",
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["best_epoch"] >= 0
    assert "askonce train-recipe" in shown.stderr.splitlines()[0]


@pytest.mark.slow
def test_tune_goes_on_where_it_stopped(askonce, workspace, tmp_path):
    arguments = (
        "tune",
        workspace / "hyperqa.toml",
        "--data",
        workspace,
        "--out",
        tmp_path / "search",
    )
    first = json.loads(askonce(*arguments, "--trials", 1, "--json").stdout)
    assert first["trials"] == 1
    second = json.loads(askonce(*arguments, "--trials", 2, "--json").stdout)
    assert second["trials"] == 2
    assert second["dev"] >= first["dev"]
    assert json.loads((tmp_path / "search" / "best.json").read_text()) == second


@pytest.mark.slow
def test_pretrain_and_start_from_it(askonce, workspace, tmp_path):
    recipe = RECIPE.partition("[tune]")[0].replace('"hyperqa"\ndim = 16', '"rcnn"\ndim = 8')
    (tmp_path / "rcnn.toml").write_text(recipe + "\n[pretrain]\nepochs = 1\n")
    before = askonce(
        "pretrain",
        tmp_path / "rcnn.toml",
        "--data",
        workspace,
        "--out",
        tmp_path / "before",
        "--json",
    )
    assert before.returncode == 0, before.stderr
    assert [record["epoch"] for record in json.loads(before.stdout)["history"]] == [0, 1]
    after = askonce(
        "train-recipe", tmp_path / "rcnn.toml", "--data", workspace, "--out", tmp_path / "after",
        "--start", tmp_path / "before", "--json",
    )  # fmt: skip
    assert after.returncode == 0, after.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train-recipe", "hyperqa.toml"), "--data names the folder"),
        (("train-recipe", "nowhere.toml", "--data", "."), "nowhere.toml: expected a TOML file"),
        (("train-recipe", "wikiqa/hyperq", "--data", "."), "did you mean 'wikiqa/hyperqa'"),
        (
            ("train-recipe", "hyperqa.toml", "--data", ".", "--set", "model.dims=3"),
            "did you mean 'dim'",
        ),
        (("train", "nowhere"), "no archive 'nowhere'"),
        (("tune", "hyperqa.toml", "--data", "nowhere"), "no folder 'nowhere'"),
    ],
)
def test_a_users_error_is_one_line(refused, arguments, message, workspace, monkeypatch):
    monkeypatch.chdir(workspace)
    said, code = refused(*arguments)
    assert code == 2
    assert message in said
