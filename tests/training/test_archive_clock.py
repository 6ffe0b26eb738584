"""The time of a training on an archive: shared, ended, and shown while it lasts."""

import json
from types import SimpleNamespace

import pytest

from askonce.training.archive.candidates import task_training
from askonce.training.archive.candidates.task_training import Clock
from askonce.training.archive.in_place import progress_file
from askonce.training.events import Epoch, Phase, Step


@pytest.fixture
def sleep(monkeypatch):
    """Let the seconds of the clock pass, and no others."""
    now = [1000.0]
    monkeypatch.setattr(task_training, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def pass_by(seconds):
        now[0] += seconds

    return pass_by


def test_time_is_shared_and_ends(sleep):
    clock = Clock(0.2, questions=20)
    first = clock.next(10)
    assert not first()
    sleep(0.11)
    assert first()
    second = clock.next(10)
    assert not second()
    assert clock.left > 0
    sleep(0.1)
    assert second()
    assert clock.left == 0
    assert clock.next(5)()


def test_who_learns_from_more_gets_more_time(sleep):
    clock = Clock(0.2, questions=100)
    first = clock.next(5)
    sleep(0.02)
    assert first()
    second = clock.next(95)
    sleep(0.1)
    assert not second()


def test_a_run_may_have_some_seconds_even_if_none_are_left(sleep):
    clock = Clock(1, questions=10)
    sleep(2)
    assert clock.next(5)()
    last = clock.next(5, least=3)
    assert not last()
    sleep(3)
    assert last()


def test_a_shorter_clock_ends_with_the_longer_one(sleep):
    clock = Clock(10)
    sleep(4)
    assert clock.within(5).left == 5
    assert clock.within(60).left == clock.left == 6


def test_the_loop_ends_after_the_epoch_that_exceeds(small, tmp_path):
    recipe = small.recipe(epochs=4)
    dataset = small.made()
    steps = []

    def stop():
        return steps[-1].epoch == 2 and steps[-1].done == steps[-1].total

    ranker = small.ranker(recipe, dataset)
    outcome = small.train(ranker, dataset, recipe, tmp_path, _steps(steps), stop=stop)
    assert outcome.progress.epoch == 2
    assert outcome.progress.done
    again = small.train(small.ranker(recipe, dataset), dataset, recipe, tmp_path)
    assert again.progress.epoch == 2  # a run that was ended is over


def test_an_epoch_longer_than_the_time_is_cut_and_measured(small, tmp_path):
    recipe = small.recipe(epochs=4, batch_size=1)
    dataset = small.made()
    steps = []

    def stop():
        return steps[-1].epoch == 2 and steps[-1].done >= 2

    ranker = small.ranker(recipe, dataset)
    outcome = small.train(ranker, dataset, recipe, tmp_path, _steps(steps), stop=stop)
    assert steps[-1].done == 2 < steps[-1].total
    assert outcome.progress.epoch == 2
    assert outcome.progress.done
    first, second = outcome.progress.history[1:]
    assert "part" not in first
    assert second["part"] == pytest.approx(2 / steps[-1].total, abs=1e-3)
    assert second["dev"]


def _steps(steps):
    return lambda event: steps.append(event) if isinstance(event, Step) else None


def test_progress_is_shown_while_it_lasts(tmp_path):
    heard = []
    with progress_file(tmp_path, 60, heard.append) as on_event:
        on_event(Phase("training qa-cnn", "answers"))
        on_event(Epoch(0, True, None, {"MAP": 0.125}))
        on_event(Epoch(1, True, 0.5, {"MAP": 0.25}, {"seconds": 1.0}))
        on_event(Step(2, 5, 10, 0.25))
        on_event(Epoch(2, True, 0.25, {"MAP": 0.5}))
        progress = json.loads((tmp_path / "progress.json").read_text())
    assert 0 <= progress.pop("share") < 0.1
    assert progress == {
        "task": "answers",
        "text": "training qa-cnn",
        "epoch": 2,
        "done": 5,
        "of": 10,
        "loss": 0.25,
        "history": [
            {"epoch": 1, "loss": 0.5, "dev": {"MAP": 0.25}},
            {"epoch": 2, "loss": 0.25, "dev": {"MAP": 0.5}},
        ],
    }
    assert [type(event) for event in heard] == [Phase, Epoch, Epoch, Step, Epoch]
    assert not list(tmp_path.iterdir())
