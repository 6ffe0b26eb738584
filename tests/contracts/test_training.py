"""What training promises of every registered model."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from askonce.models import MODELS
from askonce.training.events import Step

SMALL_RUN = Path(__file__).parents[1] / "training" / "small_run.py"
# small weights at the start make these slow; that of CABIN is its paper's
RATES = {"cabin": 0.1, "ctrn": 0.05, "elmo": 0.05, "mv-lstm": 0.05}
# of the rivals one of each room is quick to run: this is the loop's work, not the model's, and
# test_models.py lets every model learn twenty pairs
QUICK_RIVALS = {"lstm-mlp", "compare-aggregate"}
# and for the same reason one model of each other file
SLOW_VARIANTS = {"attentive-cnn", "cnn", "conv-based-lstm", "conv-pooling-lstm", "cosineqa"}
SLOW_VARIANTS |= {"euclidqa", "gru", "hyperqa-concat", "qa-bilstm"}


def quick_or_slow(name: str) -> object:
    is_rival = ".rivals." in MODELS[name].__module__ and name not in QUICK_RIVALS
    return pytest.param(name, marks=[pytest.mark.slow] * (is_rival or name in SLOW_VARIANTS))


MOST = [quick_or_slow(name) for name in MODELS.names()]


@pytest.fixture(scope="module")
def small():
    """The module of the small run."""
    spec = importlib.util.spec_from_file_location("small_run", SMALL_RUN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Stopped(Exception):
    """Somebody stopped the run."""


@pytest.mark.parametrize("name", MOST)
def test_twenty_steps_lower_the_loss(name, small, tmp_path):
    options = small.tiny(name, **small.without_dropout(name))
    # every pool whole, so that each epoch has the same groups: five batches, four times
    recipe = small.recipe(
        name,
        options,
        epochs=4,
        batch_size=2,
        dev=1,  # only the loss is looked at
        negatives={"source": "all"},
        rate=RATES.get(name, 0.02),
    )
    steps = []
    outcome = small.run(tmp_path, recipe, steps.append)
    assert sum(isinstance(event, Step) for event in steps) == 20
    losses = [record["loss"] for record in outcome.progress.history[1:]]
    assert np.isfinite(losses).all()
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("name", MOST)
def test_a_resumed_run_equals_one_that_was_not_stopped(name, small, tmp_path):
    # dropout as it is, and negatives that the model itself chooses
    options = small.tiny(name, train_words=True)
    recipe = small.recipe(name, options, epochs=2, negatives={"source": "mix", "count": 2})

    def stop(event):  # once; test_loop stops a run three times
        if isinstance(event, Step) and event.epoch == 2 and event.done > 4:
            raise Stopped

    whole = small.run(tmp_path / "whole", recipe)
    with pytest.raises(Stopped):
        small.run(tmp_path / "stopped", recipe, stop)
    resumed = small.run(tmp_path / "stopped", recipe)
    for one, other in zip(resumed.progress.history, whole.progress.history, strict=True):
        assert one | {"seconds": 0} == other | {"seconds": 0}
    pools = [pool for split in small.made().splits.values() for pool in split]
    scores = zip(resumed.ranker.score_pools(pools), whole.ranker.score_pools(pools), strict=True)
    assert max(np.abs(one - other).max() for one, other in scores) == 0
    last = [
        (tmp_path / run / "checkpoint" / "tensors.safetensors").read_bytes()
        for run in ("whole", "stopped")
    ]
    assert last[0] == last[1]
