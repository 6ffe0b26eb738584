"""Pre-training: perplexity, the encoder of the best epoch, resumed runs, the picture."""

import itertools
import json
import math

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from askonce.config import settings as read_settings
from askonce.errors import AskonceError, ConfigError
from askonce.ranker import Ranker
from askonce.training.batches import shuffled
from askonce.training.events import Epoch, Step
from askonce.training.prepare import untrained
from askonce.training.pretraining.encoder_decoder import (
    PretrainSettings,
    contexts,
    pretrain,
)
from askonce.training.pretraining.figures import EncodedExample, HeldOutTitles, last_states
from askonce.training.pretraining.pairs import pretraining_pairs
from askonce.training.recipe import Recipe, TextSettings
from tests.training.small_forum import forum, help_desk, make

TIMED = ("seconds", "words_per_second")  # differ from run to run


def run(folder, name="rcnn", dataset=None, epochs=2, **values):
    dataset = dataset or forum()
    settings = PretrainSettings(**{"epochs": epochs, "batch_size": 32, **values})
    return pretrain(make(name, dataset), dataset, settings, folder)


def timeless(history):
    return [{key: value for key, value in record.items() if key not in TIMED} for record in history]


# --- figures ---


def test_unigram_perplexity_by_hand():
    train = [EncodedExample(*(np.array(row) for row in ([2], [2], [2, 2, 3])))]
    heldout = HeldOutTitles([EncodedExample(*(np.array(row) for row in ([4], [4], [2, 4])))])
    # of 4 + 5 counts: word 2 has 3, word 4 has 1, the end has 2
    expected = (3 / 9 * 1 / 9 * 2 / 9) ** (-1 / 3)
    assert heldout.unigram_perplexity(train, 5) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["rcnn", "lstm", "gru"])
def test_perplexity_starts_at_the_size_of_the_vocabulary_and_falls(name, tmp_path):
    history = run(tmp_path, name, epochs=2)
    assert history[0]["perplexity"] == pytest.approx(history[0]["vocabulary"], rel=0.05)
    assert history[2]["perplexity"] < history[1]["perplexity"] < history[0]["perplexity"]


def test_titles_are_foretold_better_than_by_frequency(tmp_path):
    history = run(tmp_path, epochs=5, rate=1e-2)
    assert history[-1]["perplexity"] < history[-1]["unigram_perplexity"] / 2
    assert max(record["dev"]["MRR"] for record in history[1:]) > 1.5 * history[0]["dev"]["MRR"]


def test_answers_foretell_questions(tmp_path):
    history = run(tmp_path, dataset=help_desk(), epochs=10, patience=10, rate=1e-2, batch_size=8)
    assert history[-1]["perplexity"] < history[-1]["unigram_perplexity"] / 2


def test_dev_is_ranked_by_the_last_states_of_titles(tmp_path):
    dataset = forum()
    history = run(tmp_path, dataset=dataset)
    loaded = Ranker.load(tmp_path)
    best = max(history, key=lambda record: record["dev"]["MRR"])
    reciprocal = []
    for pool in dataset.split("dev"):
        posts = [pool.query, *pool.candidates]
        texts = [loaded.lexicon.numbers(post).title for post in posts]
        query, *others = last_states(loaded.model, texts)
        scores = [float(query @ other) for other in others]
        reciprocal.append(1 / sum(score >= scores[0] for score in scores))
    assert best["dev"]["MRR"] == pytest.approx(float(np.mean(reciprocal)))


# --- the run ---


def test_each_batch_makes_two_updates(tmp_path):
    run(tmp_path, epochs=1)
    batches = math.ceil(len(pretraining_pairs(forum()).train) / 32)
    tensors = load_file(tmp_path / "pretraining-checkpoint" / "tensors.safetensors")
    assert int(tensors["optimizer.0.step"]) == 2 * batches


def test_contexts_are_titles_then_bodies_where_there_are_any():
    one = EncodedExample(*(np.array(row) for row in ([2], [3, 4], [5])))
    two = EncodedExample(*(np.array(row) for row in ([6], [], [7])))
    titles, bodies = contexts([one, two])
    assert [(text.tolist(), target.tolist()) for text, target in titles] == [([2], [5]), ([6], [7])]
    assert [(text.tolist(), target.tolist()) for text, target in bodies] == [([3, 4], [5])]


def test_an_epoch_has_every_example_once():
    rows = [EncodedExample(np.array([n]), np.arange(n % 5), np.array([n])) for n in range(1000)]
    for seed in ((1, 1), (1, 2)):
        actual = [
            e.title[0]
            for batch in shuffled(rows, 16, lambda row: len(row.body), seed)
            for e in batch
        ]
        assert sorted(actual) == list(range(1000))
        assert actual != sorted(actual)


@pytest.mark.parametrize("name", ["rcnn", "lstm", "gru"])
def test_the_folder_holds_the_encoder_of_the_best_epoch(name, tmp_path):
    dataset, texts = forum(), [np.array([5, 6, 7]), np.array([9, 8])]
    ranker = make(name, dataset)
    states = [last_states(ranker.model, texts)]

    def on_event(event):
        if isinstance(event, Epoch) and event.best:
            states.append(last_states(ranker.model, texts))

    settings = PretrainSettings(epochs=2, batch_size=32, rate=1e-2)
    history = pretrain(ranker, dataset, settings, tmp_path, on_event)
    loaded = Ranker.load(tmp_path)
    assert torch.equal(last_states(loaded.model, texts), states[-1])
    assert not torch.allclose(states[-1], states[0], atol=1e-3)
    assert torch.equal(loaded.model.words.weight, make(name, dataset).model.words.weight)
    assert loaded.card["dev MRR of titles"] == round(max(r["dev"]["MRR"] for r in history), 4)


class Stopped(Exception):
    """Stands for Ctrl-C in the middle of a batch."""


@pytest.mark.parametrize("name", ["rcnn", "lstm"])
def test_a_resumed_run_equals_an_uninterrupted_one(name, tmp_path):
    dataset, settings = forum(), PretrainSettings(epochs=3, batch_size=32)
    whole = pretrain(make(name, dataset), dataset, settings, tmp_path / "whole")
    steps = itertools.count()

    def stop(event):
        if isinstance(event, Step) and event.epoch == 2 and next(steps) == 2:
            raise Stopped

    with pytest.raises(Stopped):
        pretrain(make(name, dataset), dataset, settings, tmp_path / "parts", stop)
    parts = pretrain(make(name, dataset), dataset, settings, tmp_path / "parts")
    assert timeless(parts) == timeless(whole)
    for file in ("model.safetensors", "pretraining-checkpoint/tensors.safetensors"):
        one, other = (load_file(tmp_path / part / file) for part in ("whole", "parts"))
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one)
    lines = (tmp_path / "parts" / "pretraining.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == parts


def test_other_settings_do_not_go_on_with_a_run(tmp_path):
    run(tmp_path, epochs=1)
    with pytest.raises(AskonceError, match="other settings \\(rate\\)"):
        run(tmp_path, epochs=1, rate=1e-2)


def test_patience_ends_a_run(tmp_path):
    history = run(tmp_path, epochs=30, patience=1, rate=1e-9)
    assert len(history) < 10


@pytest.mark.parametrize("name", ["cnn", "ctrn"])
def test_other_models_cannot_be_pretrained(name, tmp_path):
    dataset = forum()
    ranker = untrained(Recipe(name, None, {}, TextSettings(vectors="random", dim=10)), dataset)
    with pytest.raises(AskonceError, match=f"'{name}' cannot .* rcnn, lstm, gru"):
        pretrain(ranker, dataset, PretrainSettings(), tmp_path)


def test_impossible_settings():
    with pytest.raises(ConfigError, match="batch_size = 0"):
        read_settings(PretrainSettings, {"batch_size": 0})
