"""The mean of several trainings of a recipe."""

import torch

from askonce.ranker import Ranker
from askonce.training.fine_tuning import dev_report
from askonce.training.recipe import Before, recipe_of
from askonce.training.run import RecipeTraining
from tests.training.small_run import made

START = Before(None, None)


def recipe(trainings, seed=1):
    train = {"epochs": 2, "trainings": trainings, "seed": seed, "rate": 0.01}
    return recipe_of({"model": {"name": "hyperqa", "dim": 8}, "text": {"dim": 6}, "train": train})


def test_a_recipe_of_several_trainings_gives_their_mean(tmp_path):
    dataset = made()
    trained = RecipeTraining(recipe(3), dataset).train(START, (tmp_path / "before", tmp_path))
    folders = sorted(tmp_path.glob("training-*"))
    assert [folder.name for folder in folders] == ["training-1", "training-2", "training-3"]
    rankers = [Ranker.load(folder) for folder in folders]
    parts = [ranker.model.state_dict() for ranker in rankers]
    improved = [ranker.model.state_dict() for ranker in rankers if ranker.card["epoch"] > 0]
    saved = Ranker.load(tmp_path)
    for key, value in saved.model.state_dict().items():
        torch.testing.assert_close(value, torch.stack([part[key] for part in improved]).mean(0))
    assert any(not torch.equal(parts[0][key], parts[1][key]) for key in parts[0])
    dev = dev_report(saved, dataset.role("dev"), dataset).metrics["MAP"]
    assert abs(trained.progress.best_value - dev) < 1e-6
    assert (tmp_path / "metrics.jsonl").read_text() == (folders[0] / "metrics.jsonl").read_text()


def test_two_seeds_share_no_training(tmp_path):
    weights = []
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        RecipeTraining(recipe(2, seed), made()).train(START, (folder / "before", folder))
        weights += [Ranker.load(path).model.state_dict() for path in folder.glob("training-*")]
    for n, one in enumerate(weights):
        for other in weights[:n]:
            assert any(not torch.equal(one[key], other[key]) for key in one)
