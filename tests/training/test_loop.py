"""The loop does what recipes say: rates, limits, penalties, when to stop, what to keep."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn.functional import binary_cross_entropy_with_logits

from askonce.errors import AskonceError
from askonce.text.batch import Batch
from askonce.training import checkpoint
from askonce.training.batches import Collator, GroupScorer
from askonce.training.events import Epoch, Step
from askonce.training.fine_tuning import (
    batch_loss,
    dev_report,
    dev_split,
    group_losses,
    mined,
    rate,
    train,
)
from askonce.training.processes import Processes
from askonce.training.recipe import Negatives, TrainSettings
from askonce.training.sampling import Group, GroupSampler
from askonce.types import Dataset

SMALL_RUN = Path(__file__).with_name("small_run.py")


def history(outcome):
    """What an epoch is known by, without its time."""
    return [
        {key: value for key, value in record.items() if key != "seconds"}
        for record in outcome.progress.history
    ]


def weights(folder):
    tensors = load_file(folder / "checkpoint" / "tensors.safetensors")
    return {key[6:]: value for key, value in tensors.items() if key.startswith("model.")}


def replaced(recipe, **changes):
    return replace(recipe, train=replace(recipe.train, **changes))


def one_step(small, folder, train_words=True, **changes):
    """Weights before and after one step of plain gradient descent on one batch."""
    options = small.tiny("qa-cnn", train_words=train_words, dropout=0.0)
    recipe = small.recipe("qa-cnn", options, optimiser="sgd", epochs=1, batch_size=99, **changes)
    before = small.ranker(recipe, small.made()).model.state_dict()
    small.run(folder, recipe)
    return {key: value.clone() for key, value in before.items()}, weights(folder)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"schedule": "constant"}, [1.1] * 6),
        ({"schedule": "inverse"}, [1.1, 0.55, 1.1 / 3, 0.275, 0.22, 1.1 / 6]),
        ({"schedule": "halving", "halve_every": 2}, [1.1, 1.1, 0.55, 0.55, 0.275, 0.275]),
    ],
)
def test_learning_rates_of_the_papers(changes, expected):
    config = TrainSettings(rate=1.1, **changes)
    assert [rate(config, epoch) for epoch in range(1, 7)] == pytest.approx(expected)


def test_overlap_features_are_standardised_by_training_pairs(small, tmp_path):
    recipe = small.recipe("qrnn", small.tiny("qrnn", overlap=True), epochs=1)
    dataset = small.made()
    overlap = small.run(tmp_path, recipe, dataset=dataset).ranker.model.overlap
    lexicon = small.ranker(recipe, dataset).lexicon
    pairs = [(p.query, c) for p in dataset.splits["train"] for c in p.candidates]
    views = [Batch([lexicon.numbers(pair[side]) for pair in pairs]).text for side in (0, 1)]
    features = overlap(*views)  # of the saved and loaded ranker
    torch.testing.assert_close(features.mean(0), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(features.std(0, correction=0), torch.ones(4))


def test_the_rate_of_the_epoch_is_the_one_that_is_used(small, tmp_path):
    # one batch an epoch: after the first two epochs of plain descent, Δp = -rate · gradient
    options = small.tiny("qa-cnn", train_words=False)
    recipe = small.recipe("qa-cnn", options, optimiser="sgd", epochs=2, batch_size=99)
    slow = small.recipe(
        "qa-cnn", options, optimiser="sgd", epochs=2, batch_size=99, schedule="inverse"
    )
    outcomes = [small.run(tmp_path / name, r) for name, r in (("c", recipe), ("i", slow))]
    assert [[r["rate"] for r in history(o)[1:]] for o in outcomes] == [[0.02, 0.02], [0.02, 0.01]]
    start = small.ranker(recipe, small.made()).model.state_dict()
    first = small.run(
        tmp_path / "one", small.recipe("qa-cnn", options, optimiser="sgd", epochs=1, batch_size=99)
    )
    assert history(first) == history(outcomes[0])[:2] == history(outcomes[1])[:2]
    after = weights(tmp_path / "one")
    for key in start:
        fast, half = (weights(tmp_path / name)[key] - after[key] for name in "ci")
        torch.testing.assert_close(half, fast / 2, atol=1e-7, rtol=1e-4)


def test_clipping_bounds_the_step(small, tmp_path):
    before, free = one_step(small, tmp_path / "free", rate=1.0)
    _, clipped = one_step(small, tmp_path / "clipped", rate=1.0, clip=0.01)
    steps = [
        torch.cat([(after[key] - before[key]).flatten() for key in before])
        for after in (free, clipped)
    ]
    assert steps[0].norm() > 0.02
    assert steps[1].norm().item() == pytest.approx(0.01, rel=1e-3)
    torch.testing.assert_close(steps[1], steps[0] * 0.01 / steps[0].norm(), atol=1e-6, rtol=1e-3)


@pytest.mark.parametrize("form", ["squared", "norm"])
def test_l2_as_the_papers_mean_it(form, small, tmp_path):
    before, plain = one_step(small, tmp_path / "plain", rate=0.5)
    _, held = one_step(small, tmp_path / "held", rate=0.5, l2=0.03, l2_form=form)
    for key, start in before.items():
        gradient = 2 * start if form == "squared" else start / start.norm()  # of ‖p‖² and of ‖p‖
        if key.startswith("words.") or not start.norm():
            gradient = torch.zeros_like(start)
        expected = plain[key] - 0.5 * 0.03 * gradient
        torch.testing.assert_close(held[key], expected, atol=1e-6, rtol=1e-5)


def test_the_loss_is_told_with_its_penalty(small, tmp_path):
    options = small.tiny("qa-cnn", dropout=0.0)
    changes = {"epochs": 1, "batch_size": 99}
    plain = small.run(tmp_path / "a", small.recipe("qa-cnn", options, **changes))
    recipe = small.recipe("qa-cnn", options, l2=0.5, l2_form="norm", **changes)
    held = small.run(tmp_path / "b", recipe)
    model = small.ranker(recipe, small.made()).model
    norms = [p.norm().item() for n, p in model.named_parameters() if not n.startswith("words.")]
    expected = history(plain)[1]["loss"] + 0.5 * sum(norms)
    assert history(held)[1]["loss"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("train_words", [False, True])
def test_word_vectors_move_only_when_they_are_trained(train_words, small, tmp_path):
    before, after = one_step(small, tmp_path, train_words, rate=0.5)
    assert (before["words.weight"] == after["words.weight"]).all() != train_words
    assert (after["words.weight"][0] == 0).all() == (before["words.weight"][0] == 0).all()


def test_it_stops_when_dev_gets_no_better_and_keeps_the_first_of_equals(small, tmp_path):
    recipe = small.recipe(rate=1e-12, epochs=50, patience=3)
    outcome = small.run(tmp_path, recipe)
    assert (outcome.progress.epoch, outcome.progress.best_epoch) == (4, 0)
    assert outcome.progress.done
    assert small.run(tmp_path, recipe).progress == outcome.progress  # nothing more to do


def test_the_folder_holds_the_best_epoch(small, tmp_path):
    dataset = small.made()
    recipe = small.recipe(rate=0.2, epochs=8, watch="MRR")
    ranker = small.ranker(recipe, dataset)
    seen = {}

    def on_event(event):
        if isinstance(event, Epoch):
            state = {key: value.clone() for key, value in ranker.model.state_dict().items()}
            seen[event.epoch] = event, state

    outcome = train(ranker, dataset, recipe, tmp_path, on_event)
    best = outcome.progress.best_epoch
    values = [record["dev"]["MRR"] for record in outcome.progress.history]
    assert best == int(np.argmax(values)) < 8  # later epochs were worse, else this proves little
    assert outcome.progress.best_value == max(values)
    assert [epoch for epoch, (event, _) in seen.items() if event.best][-1] == best
    assert outcome.ranker.card["epoch"] == best
    for key, value in load_file(tmp_path / "model.safetensors").items():
        assert (value == seen[best][1][key]).all()
    report = dev_report(outcome.ranker, dataset.split("dev"), dataset)
    assert report.metrics["MRR"] == pytest.approx(max(values))


def test_the_weights_before_training_are_kept_if_no_epoch_beats_them(small, tmp_path):
    dataset = small.made()
    first = small.recipe(rate=0.05, epochs=20, split="dev")  # knows dev by heart
    trained = small.run(tmp_path / "first", first).ranker
    start = {key: value.clone() for key, value in trained.model.state_dict().items()}
    events = []
    harmful = small.recipe(rate=50.0, optimiser="sgd", epochs=3)
    outcome = train(trained, dataset, harmful, tmp_path / "second", events.append)
    values = [record["dev"]["MAP"] for record in outcome.progress.history]
    assert max(values[1:]) < values[0] == outcome.progress.best_value == 1
    assert [record["epoch"] for record in outcome.progress.history] == [0, 1, 2, 3]
    assert "loss" not in outcome.progress.history[0]
    assert outcome.progress.best_epoch == outcome.ranker.card["epoch"] == 0
    for key, value in outcome.ranker.model.state_dict().items():
        assert (value == start[key]).all()
    assert "did not improve" in events[-1].text
    epochs = [event for event in events if isinstance(event, Epoch)]
    assert [event.best for event in epochs] == [True, False, False, False]


def test_the_running_mean_of_the_weights_is_measured_and_kept(small, tmp_path):
    options = small.tiny("qa-cnn", train_words=True, dropout=0.0)
    plain = small.recipe("qa-cnn", options, batch_size=99)  # one step an epoch
    start = small.ranker(plain, small.made()).model.state_dict()
    key = max(start, key=lambda name: start[name].numel())
    trained = []
    for epochs in (1, 2, 3):
        small.run(tmp_path / str(epochs), replaced(plain, epochs=epochs, patience=9))
        trained.append(weights(tmp_path / str(epochs))[key])
    means = [trained[0]]
    for value in trained[1:]:
        means.append(0.75 * means[-1] + 0.25 * value)

    recipe, stops = replaced(plain, epochs=3, patience=9, mean=0.75), []

    def stop_once(event):
        if isinstance(event, Step) and event.epoch == 3 and not stops:
            stops.append(event)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small.run(tmp_path / "mean", recipe, stop_once)
    outcome = small.run(tmp_path / "mean", recipe)  # the mean goes on from the checkpoint
    torch.testing.assert_close(weights(tmp_path / "mean")[key], trained[-1])
    tensors = load_file(tmp_path / "mean" / "checkpoint" / "tensors.safetensors")
    last = [value for name, value in tensors.items() if name.endswith(".mean")]
    assert any(v.shape == means[-1].shape and torch.allclose(v, means[-1]) for v in last)
    best = outcome.progress.best_epoch
    expected = start[key] if best == 0 else means[best - 1]
    torch.testing.assert_close(outcome.ranker.model.state_dict()[key], expected)
    with pytest.raises(AskonceError, match=r"train.mean = 1.0; expected a decay"):
        TrainSettings(mean=1.0)


def test_some_questions_of_dev_can_choose_the_epoch(small, tmp_path):
    dataset = small.made()
    dev = dataset.split("dev")
    chosen = dev_split(dataset, 3)
    assert [dev.index(pool) for pool in chosen] == [0, len(dev) // 3, 2 * len(dev) // 3]
    assert dev_split(dataset, len(dev) + 1) == dev_split(dataset) == dev
    outcome = small.run(tmp_path, small.recipe(epochs=2, dev=3))
    report = dev_report(outcome.ranker, chosen, dataset)
    best = outcome.progress.history[outcome.progress.best_epoch]
    assert report.metrics == pytest.approx(best["dev"])


def test_metrics_have_one_record_per_epoch_also_after_a_stop(small, tmp_path):
    recipe = small.recipe(epochs=5)
    whole = small.run(tmp_path / "whole", recipe)
    for epoch in (2, 4):
        with pytest.raises(Stopped):
            small.run(tmp_path / "stopped", recipe, stop_in(epoch))
    resumed = small.run(tmp_path / "stopped", recipe)
    lines = (tmp_path / "stopped" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [0, 1, 2, 3, 4, 5]
    assert history(resumed) == history(whole)


class Stopped(Exception):
    """Somebody stopped the run."""


def stop_in(epoch):
    """Stop after the second step of an epoch."""

    def on_event(event):
        if isinstance(event, Step) and event.epoch == epoch and event.done > 4:
            raise Stopped

    return on_event


def test_a_stop_after_saving_the_best_and_before_the_checkpoint_loses_nothing(small, tmp_path):
    recipe = small.recipe(epochs=3)
    whole = small.run(tmp_path / "whole", recipe)
    small.run(tmp_path / "stopped", recipe)
    # put the checkpoint one epoch back, as if it had not been written
    with pytest.raises(Stopped):
        small.run(tmp_path / "early", recipe, stop_in(2))
    for name in ("checkpoint/state.json", "checkpoint/tensors.safetensors"):
        (tmp_path / "stopped" / name).write_bytes((tmp_path / "early" / name).read_bytes())
    resumed = small.run(tmp_path / "stopped", recipe)
    assert history(resumed) == history(whole)
    for key, value in weights(tmp_path / "whole").items():
        assert (value == weights(tmp_path / "stopped")[key]).all()


def test_progress_is_told_at_each_step_and_epoch(small, tmp_path):
    events = []
    small.run(tmp_path, small.recipe(epochs=2), events.append)
    kinds = [type(event) for event in events]
    assert kinds == [Epoch] + ([Step] * 3 + [Epoch]) * 2  # nine groups, four a batch
    assert {event.total for event in events if isinstance(event, Step)} == {9}
    assert [events[n].done for n in (3, 7)] == [9, 9]
    assert events[4].loss == pytest.approx(events[3].loss)


def test_a_loss_that_is_no_number_stops_the_run(small, tmp_path):
    recipe = small.recipe("qa-cnn", optimiser="sgd", rate=1e30, loss="softmax", scale=1e30)
    with pytest.raises(AskonceError, match=r"the loss became .* in epoch \d; lower train\.rate"):
        small.run(tmp_path, recipe)


def test_mining_keeps_the_hardest_and_every_right_one(small):
    dataset = small.made()
    ranker = small.ranker(small.recipe("ctrn"), dataset)
    groups = GroupSampler(dataset, "train", Negatives("all")).epoch(1)
    groups[0] = Group(groups[0].query, groups[0].candidates, (1, 1, 0, 0, 0))
    collator = Collator(ranker.lexicon.read, {})
    ranker.model.train()
    actual = mined(groups, collator, 2, ranker, torch.device("cpu"))
    assert ranker.model.training
    ranker.model.eval()
    for before, after in zip(groups, actual, strict=True):
        pairs = list(zip(before.candidates, before.labels, strict=True))
        wrong = [post for post, label in pairs if label <= 0]
        scores = ranker.predict([(before.query, post) for post in wrong])
        hardest = [wrong[i] for i in np.argsort(-scores, kind="stable")[:2]]
        assert list(after.candidates) == [post for post, x in pairs if x > 0] + hardest
        assert after.labels == (1,) * (len(after.candidates) - 2) + (0, 0)


def test_the_mean_over_pairs_is_that_of_all_pairs_of_the_batch(small):
    dataset = small.made()
    ranker = small.ranker(small.recipe("ctrn"), dataset)
    groups = GroupSampler(dataset, "train", Negatives("all")).epoch(1)[:3]
    first = groups[0]
    groups[0] = Group(first.query, first.candidates[:2], first.labels[:2])  # sizes that differ
    config = TrainSettings(loss="cross_entropy", average="pairs", negatives=Negatives("all"))
    collator = Collator(ranker.lexicon.read, {})
    ranker.model.eval()

    def part(own):
        batch = collator.collate(own)
        scores = GroupScorer(ranker.model)(batch)
        return batch_loss(group_losses(scores, batch, config), batch, groups, config)

    whole = collator.collate(groups)
    scores, labels = GroupScorer(ranker.model)(whole)[whole.mask], whole.labels[whole.mask]
    expected = binary_cross_entropy_with_logits(scores, labels.float())
    torch.testing.assert_close(part(groups), expected)
    torch.testing.assert_close(part(groups[:1]) + part(groups[1:]), expected)  # two processes


def test_scale_multiplies_scores_before_the_loss(small):
    dataset = small.made()
    ranker = small.ranker(small.recipe(), dataset)
    groups = GroupSampler(dataset, "train", Negatives("all")).epoch(1)
    batch = Collator(ranker.lexicon.read, {}).collate(groups)
    with torch.inference_mode():
        scores = GroupScorer(ranker.model)(batch)
    config = TrainSettings(loss="softmax", scale=20.0)
    expected = -(20 * scores).log_softmax(1)[:, 0]  # the right one comes first
    torch.testing.assert_close(group_losses(scores, batch, config), expected)


def environment():
    """For a process that imports other files of the tests."""
    paths = [str(SMALL_RUN.parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}


def stopped(folder, number, line):
    """Start the small run in a process of its own, and send it a signal where it waits for one."""
    command = [sys.executable, str(SMALL_RUN), str(folder), line]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment()
    )
    assert process.stdout.readline().strip() == line
    process.send_signal(number)
    process.stdout.close()
    assert process.wait(60) != 0


def ctrl_c(event):
    if isinstance(event, Step) and event.epoch == 4:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.slow
def test_a_run_that_is_stopped_thrice_ends_as_one_that_was_not(small, tmp_path):
    stopped(tmp_path / "killed", signal.SIGKILL, "Step 2")
    stopped(tmp_path / "killed", signal.SIGTERM, "Step 3")
    with pytest.raises(KeyboardInterrupt):
        small.run(tmp_path / "killed", small.recipe(), ctrl_c)
    resumed = small.run(tmp_path / "killed", small.recipe())
    whole = small.run(tmp_path / "whole", small.recipe())
    assert history(resumed) == history(whole)
    assert resumed.progress.epoch == 4
    pools = small.made().split("dev")
    for one, other in zip(
        resumed.ranker.score_pools(pools), whole.ranker.score_pools(pools), strict=True
    ):
        assert np.abs(one - other).max() == 0


@pytest.mark.slow
def test_two_processes_agree_with_one(small, tmp_path):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [*torchrun, "--nproc-per-node", "2", str(SMALL_RUN), str(tmp_path / "two")]
    subprocess.run(
        command,
        check=True,
        capture_output=True,
        timeout=300,
        env=environment(),
    )
    for name in small.SHARED:
        steps = []
        recipe = small.shared(name)
        one = small.run(tmp_path / "one" / name, recipe, steps.append)
        assert sum(isinstance(event, Step) for event in steps) == 10
        actual, expected = weights(tmp_path / "two" / name), weights(tmp_path / "one" / name)
        for key, value in expected.items():
            torch.testing.assert_close(actual[key], value, atol=1e-5, rtol=0)
        lines = (tmp_path / "two" / name / "metrics.jsonl").read_text().splitlines()
        losses = [json.loads(line)["loss"] for line in lines[1:]]
        assert losses == pytest.approx([r["loss"] for r in one.progress.history[1:]], abs=1e-5)
    for name in small.PRETRAINED:
        folder = f"pretrained-{name}"
        expected = small.pretrained(name, tmp_path / "one" / folder)
        paths = sorted((tmp_path / "two" / folder).glob("*.jsonl"), reverse=True)  # query first
        actual = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
        assert [r.get("loss", 0) for r in actual] == pytest.approx(
            [r.get("loss", 0) for r in expected], abs=1e-5
        )
        one, two = (load_file(tmp_path / n / folder / "model.safetensors") for n in ("one", "two"))
        for key, value in one.items():  # Adam divides by the gradient's size, which may be tiny
            torch.testing.assert_close(two[key], value, atol=1e-4, rtol=0)


def test_no_process_writes_a_checkpoint_before_all_have_looked_for_one(
    small, tmp_path, monkeypatch
):
    """A process that is late would resume after the first one's epoch 0, and wait for ever."""
    order = []

    def noted(name, function):
        return lambda *given: (order.append(name), function(*given))[1]

    for name in ("load", "save"):
        monkeypatch.setattr(checkpoint, name, noted(name, getattr(checkpoint, name)))
    monkeypatch.setattr(Processes, "barrier", lambda self: order.append("barrier"))
    small.run(tmp_path, small.recipe(epochs=1))
    assert order[:3] == ["load", "barrier", "save"]


def test_a_run_is_not_resumed_from_other_weights(small, tmp_path):
    recipe, dataset = small.recipe(epochs=1), small.made()
    small.run(tmp_path, recipe, dataset=dataset)
    other = small.ranker(recipe, dataset)
    with torch.no_grad():
        next(iter(other.model.parameters())).add_(1)
    with pytest.raises(AskonceError, match="weights to start from"):
        train(other, dataset, recipe, tmp_path)


def test_the_epoch_is_chosen_on_the_split_of_the_role(small, tmp_path):
    # as in SemEval B, where a split is called dev and another one has that role
    made = small.made()
    wrong = tuple(replace(pool, labels=pool.labels[::-1]) for pool in made.splits["dev"])
    splits = {"train": made.splits["train"], "dev": wrong, "dev-lemma": made.splits["dev"]}
    dataset = Dataset("forms", splits, dev="dev-lemma")
    expected = small.run(tmp_path / "plain", small.recipe(epochs=2), dataset=made)
    outcome = small.run(tmp_path / "forms", small.recipe(epochs=2), dataset=dataset)
    figures = [[record["dev"] for record in one.progress.history] for one in (outcome, expected)]
    assert figures[0] == figures[1]
