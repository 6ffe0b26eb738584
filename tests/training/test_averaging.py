"""A mean of the weights: what it is, that it scores and is saved, that resuming keeps it."""

import pytest
import torch
from safetensors.torch import load_file

from askonce.errors import ConfigError
from askonce.training.averaging import WeightAverage


class Model(torch.nn.Linear):
    def prepare(self):
        self.prepared = self.weight.clone()


def stepped(keep, steps):
    """A model after some steps, its average, and its weights after each of them."""
    torch.manual_seed(1)
    model = Model(3, 1, bias=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    average = WeightAverage(optimizer, keep)
    passed = []
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.rand(4, 3)).sum().backward()
        optimizer.step()
        passed.append(model.weight.detach().clone())
    return model, average, passed


def test_each_step_keeps_a_part_of_the_mean_and_the_first_ones_less():
    model, average, passed = stepped(0.5, 15)
    mean = passed[0]
    for number, weight in enumerate(passed):
        kept = min(0.5, number / (number + 10))
        mean = kept * mean + (1 - kept) * weight
    with average.in_place(model):
        torch.testing.assert_close(model.weight, mean)
        torch.testing.assert_close(model.prepared, mean)
        assert not model.training
    assert torch.equal(model.weight, passed[-1])
    assert torch.equal(model.prepared, passed[-1])


def test_without_it_the_weights_are_the_last_ones():
    model, average, passed = stepped(0, 5)
    with average.in_place(model):
        assert torch.equal(model.weight, passed[-1])


@pytest.mark.parametrize("name", ["hyperqa", "qa-cnn"])
def test_the_mean_is_saved_and_training_goes_on_from_the_weights(small, tmp_path, name):
    plain = small.recipe(name, epochs=1)
    averaged = small.recipe(name, epochs=1, average=0.9)
    for told, folder in ((plain, "plain"), (averaged, "averaged")):
        small.run(tmp_path / folder, told)
    ends = [
        load_file(tmp_path / folder / "checkpoint" / "tensors.safetensors")
        for folder in ("plain", "averaged")
    ]
    assert all(torch.equal(ends[1][key], value) for key, value in ends[0].items())
    means = [value for key, value in ends[1].items() if key.endswith(".mean")]
    saved = load_file(next((tmp_path / "averaged").glob("*.safetensors")))
    assert means
    for mean in means:
        assert any(mean.shape == v.shape and torch.equal(mean, v) for v in saved.values())


def test_a_stopped_run_goes_on_with_its_mean(small, tmp_path):
    told = small.recipe("hyperqa", epochs=3, average=0.9)
    whole = small.run(tmp_path / "whole", told)

    def stop(kind, figures):
        if kind == "step" and figures["epoch"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small.run(tmp_path / "stopped", told, stop)
    resumed = small.run(tmp_path / "stopped", told)
    for one, other in zip(whole.progress.history, resumed.progress.history, strict=True):
        assert (one["loss"], one["dev"]) == (other["loss"], other["dev"])


@pytest.mark.parametrize("value", [1.0, -0.1, float("nan")])
def test_a_mean_that_keeps_all_of_itself_is_refused(small, value):
    with pytest.raises(ConfigError, match=r"train\.average"):
        small.recipe(average=value)
