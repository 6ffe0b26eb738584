"""A run that was stopped goes on; what cannot be read or written is told in one line."""

import json
import os
import resource
import shutil
from contextlib import contextmanager

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from askonce.errors import AskonceError, DataError
from askonce.training import checkpoint
from askonce.training.checkpoint import Progress
from askonce.training.events import Epoch

RECIPE = {"model": "x", "options": {"widths": (1, 2)}, "train": {"rate": 0.1, "epochs": 3}}


class Run:
    """A small model with an optimiser that has taken some steps."""

    def __init__(self, steps=0, optimiser=torch.optim.Adam):
        torch.manual_seed(1)
        self.model = nn.Linear(300, 20)
        self.optimizer = optimiser(self.model.parameters(), lr=0.01)
        self.step(steps)

    def step(self, count):
        for _ in range(count):
            self.optimizer.zero_grad()
            self.model(torch.ones(1, 300)).pow(2).sum().backward()
            self.optimizer.step()

    def save(self, folder, epoch, recipe=RECIPE):
        progress = Progress(epoch, best_epoch=1, best_value=0.5, history=[{"epoch": epoch}])
        checkpoint.save(folder, progress, recipe, self.model, self.optimizer)

    def load(self, folder, recipe=RECIPE):
        return checkpoint.load(folder, recipe, self.model, self.optimizer)


@contextmanager
def files_at_most(size):
    """The disk takes no file greater than this, as if it were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_without_a_checkpoint_a_run_starts(tmp_path):
    assert Run().load(tmp_path / "checkpoint") == Progress()


@pytest.mark.parametrize(
    "optimiser",
    [
        torch.optim.Adam,
        torch.optim.Adamax,
        torch.optim.Adagrad,
        torch.optim.RMSprop,
        torch.optim.SGD,
    ],
)
def test_model_and_optimiser_go_on_as_if_never_stopped(optimiser, tmp_path):
    run = Run(3, optimiser)
    run.save(tmp_path / "checkpoint", 2)
    again = Run(0, optimiser)
    progress = again.load(tmp_path / "checkpoint")
    assert progress == Progress(2, 1, 0.5, False, [{"epoch": 2}])
    run.step(4)
    again.step(4)
    assert (run.model.weight == again.model.weight).all()


def test_only_the_last_checkpoint_is_kept_and_nothing_beside_it(tmp_path):
    for epoch in (1, 2, 3):
        Run(epoch).save(tmp_path / "checkpoint", epoch)
    assert os.listdir(tmp_path) == ["checkpoint"]
    assert Run().load(tmp_path / "checkpoint").epoch == 3


@pytest.mark.parametrize("room", [50, 5000])  # neither state nor tensors fit; the tensors do not
def test_a_full_disk_leaves_the_checkpoint_before(room, tmp_path):
    run = Run(1)
    run.save(tmp_path / "checkpoint", 1)
    saved = load_file(tmp_path / "checkpoint" / "tensors.safetensors")
    run.step(1)
    with files_at_most(room), pytest.raises(AskonceError, match="make room") as caught:
        run.save(tmp_path / "checkpoint", 2)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["checkpoint"]
    again = Run()
    assert again.load(tmp_path / "checkpoint").epoch == 1
    assert (again.model.weight == saved["model.weight"]).all()
    run.save(tmp_path / "checkpoint", 2)  # once there is room
    assert Run().load(tmp_path / "checkpoint").epoch == 2


def test_a_disk_that_is_really_full(small_disk):
    disk = small_disk("100k")  # room for one checkpoint, not for two
    run = Run(1)
    run.save(disk / "checkpoint", 1)
    run.step(1)
    with pytest.raises(AskonceError, match=r"No space left.*make room"):
        run.save(disk / "checkpoint", 2)
    assert Run().load(disk / "checkpoint").epoch == 1


def test_a_whole_run_on_a_full_disk_goes_on_once_there_is_room(small, tmp_path):
    recipe = small.recipe(epochs=3)
    whole = small.run(tmp_path / "whole", recipe)

    def fill(event):
        if isinstance(event, Epoch) and event.epoch == 1:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))

    with files_at_most(resource.RLIM_INFINITY), pytest.raises(AskonceError, match="make room"):
        small.run(tmp_path / "stopped", recipe, fill)
    resumed = small.run(tmp_path / "stopped", recipe)
    assert [r.get("loss") for r in resumed.progress.history] == [
        r.get("loss") for r in whole.progress.history
    ]


def test_a_stop_between_the_two_renames_loses_nothing(tmp_path):
    Run(1).save(tmp_path / "checkpoint", 1)
    (tmp_path / "checkpoint").rename(tmp_path / ".checkpoint.old")
    (tmp_path / ".checkpoint.new").mkdir()  # half written
    run = Run()
    assert run.load(tmp_path / "checkpoint").epoch == 1
    run.save(tmp_path / "checkpoint", 2)
    assert os.listdir(tmp_path) == ["checkpoint"]


def test_a_left_over_of_an_older_run_does_not_count(tmp_path):
    Run(1).save(tmp_path / "checkpoint", 1)
    shutil.copytree(tmp_path / "checkpoint", tmp_path / ".checkpoint.old")
    Run(2).save(tmp_path / "checkpoint", 2)
    assert Run().load(tmp_path / "checkpoint").epoch == 2


def _cut(path):
    path.write_bytes(path.read_bytes()[:-100])


DAMAGES = {
    "tensors cut": lambda folder: _cut(folder / "tensors.safetensors"),
    "no tensors": lambda folder: (folder / "tensors.safetensors").unlink(),
    "tensors no safetensors": lambda folder: (folder / "tensors.safetensors").write_bytes(b"x"),
    "state cut": lambda folder: (folder / "state.json").write_text('{"format": 1, "rec'),
    "state binary": lambda folder: (folder / "state.json").write_bytes(b"\xff\xfe"),
    "no state": lambda folder: (folder / "state.json").unlink(),
    "state a list": lambda folder: (folder / "state.json").write_text("[1]"),
    "state bare": lambda folder: (folder / "state.json").write_text('{"format": 1}'),
    "later format": lambda folder: (folder / "state.json").write_text('{"format": 2}'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_one_clear_line(damage, tmp_path):
    Run(1).save(tmp_path / "checkpoint", 1)
    DAMAGES[damage](tmp_path / "checkpoint")
    with pytest.raises(DataError, match="remove it to start again") as caught:
        Run().load(tmp_path / "checkpoint")
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_recipe_is_refused_by_the_names_that_differ(tmp_path):
    Run(1).save(tmp_path / "checkpoint", 1)
    other = {**RECIPE, "train": {"rate": 0.2, "epochs": 3, "clip": 1.0}}
    with pytest.raises(AskonceError, match=r"other settings \(train\.rate, train\.clip\)"):
        Run().load(tmp_path / "checkpoint", other)


def test_other_weights_are_refused(tmp_path):
    Run(1).save(tmp_path / "checkpoint", 1)
    path = tmp_path / "checkpoint" / "tensors.safetensors"
    save_file({**load_file(path), "model.weight": torch.zeros(2, 2)}, path)
    with pytest.raises(AskonceError, match="on other words, vectors or weights"):
        Run().load(tmp_path / "checkpoint")


def test_nothing_is_pickled(tmp_path):
    Run(1).save(tmp_path / "checkpoint", 1)
    assert sorted(os.listdir(tmp_path / "checkpoint")) == ["state.json", "tensors.safetensors"]
    assert json.loads((tmp_path / "checkpoint" / "state.json").read_text())["format"] == 1
