"""Pre-training: what is guessed from what, perplexity, transfer of the encoder, resumed runs."""

import itertools
import json
import math
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch.nn import functional as F

from askonce.datasets import load_dataset
from askonce.errors import AskonceError, ConfigError, MissingExtra
from askonce.models.decoder import EncoderDecoder, sampled_surprise, surprise
from askonce.ranker import Ranker
from askonce.text.batch import View
from askonce.training import pretraining_plot
from askonce.training.prepare import untrained
from askonce.training.pretraining import PretrainSettings, contexts, pretrain, shuffled
from askonce.training.pretraining_figures import Coded, HeldOut, last_states
from askonce.training.pretraining_pairs import pretraining_pairs
from askonce.training.recipe import Recipe, TextSettings
from askonce.types import Dataset, Pool, Post

TIMED = ("seconds", "words_per_second")  # differ from run to run
VERBS = ["clean", "mend", "paint", "oil", "fit", "test", "sell", "buy", "lift", "store"]
THINGS = ["chain", "tyre", "pedal", "saddle", "brake", "wheel", "frame", "spoke", "bell", "lamp"]
TALK = ["yesterday", "my", "friend", "said", "that", "maybe", "someone", "here", "will", "know"]


@pytest.fixture
def drawing():
    """Asked for by the test that looks at the picture."""


@pytest.fixture(autouse=True)
def hidden_matplotlib(request, monkeypatch):
    """Drawing takes longer than these runs, so they take place as if it were not installed."""
    if "drawing" not in request.fixturenames:
        monkeypatch.setitem(sys.modules, "matplotlib", None)


def question(place):
    """A title of two telling words, both of which the body holds too, among others.

    Questions whose numbers differ by 100 ask for the same in other words.
    """
    verb, thing = VERBS[place % 10], THINGS[place // 10 % 10]
    talk = [TALK[(place * k) % len(TALK)] for k in range(1, 6)]
    body = " ".join([*talk[:3], thing, *talk[3:], verb])
    title = f"how to {verb} the {thing}" if place < 100 else f"{thing} , ways to {verb} it"
    return Post(f"q{place}", title, body)


def forum(size=200):
    posts = [question(place) for place in range(size)]
    tenth = size // 10

    def pool(query, wrong):
        others = [posts[(query + step) % size] for step in range(1, wrong + 1)]
        twin = posts[(query + 100) % size]
        return Pool(posts[query], (twin, *others), (1,) + (0,) * len(others))

    splits = {
        "train": tuple(pool(n, 3) for n in range(2 * tenth, 4 * tenth)),
        "dev": tuple(pool(n, 9) for n in range(tenth)),
        "test": tuple(pool(n, 9) for n in range(tenth, 2 * tenth)),
    }
    return Dataset("made", splits, corpus=tuple(posts))


def help_desk():
    """Questions without bodies and answers without titles."""
    pools = []
    for n in range(40):
        asked = question(n)
        right = (Post(f"a{n}", body=asked.body, kind="answer"),)
        wrong = Post(f"a{n + 1}", body=question(n + 1).body, kind="answer")
        pools.append(Pool(Post(f"q{n}", asked.title), (*right, wrong), (1, 0)))
    return Dataset("desk", {"train": tuple(pools[:30]), "dev": tuple(pools[30:])}, test="dev")


def make(name="rcnn", dataset=None, **options):
    text = TextSettings(vectors="random", dim=20)
    options = {"dim": 24, "dropout": 0.1, **options}
    return untrained(Recipe(name, None, options, text), dataset or forum())


def run(folder, name="rcnn", dataset=None, epochs=2, **values):
    dataset = dataset or forum()
    settings = PretrainSettings(**{"epochs": epochs, "batch_size": 32, **values})
    return pretrain(make(name, dataset), dataset, settings, folder)


def timeless(history):
    return [{key: value for key, value in record.items() if key not in TIMED} for record in history]


# --- what is guessed from what ---


def test_questions_lead_to_their_own_titles_and_marked_ones_to_each_other():
    pairs = pretraining_pairs(forum())
    train = {(example.body, example.target) for example in pairs.train}
    one, other = question(50), question(150)  # a pool of the training split, and its twin
    assert (one.body, one.title) in train
    assert (one.body, other.title) in train
    assert (other.body, one.title) in train
    assert all(example.title and example.body for example in pairs.train)


def test_an_answer_leads_to_its_question_and_only_in_training():
    dataset = help_desk()
    pairs = pretraining_pairs(dataset)
    found = {(e.title, e.body, e.target) for e in [*pairs.train, *pairs.heldout]}
    asked = (question(n) for n in range(30))
    assert found == {(q.title, q.body, q.title) for q in asked}


def test_marks_of_dev_and_test_are_not_read():
    dataset = forum()
    train = {(example.title, example.target) for example in pretraining_pairs(dataset).train}
    for pool in (*dataset.split("dev"), *dataset.split("test")):
        (twin,) = pool.positives
        assert (pool.query.title, twin.title) not in train
        assert (twin.title, pool.query.title) not in train


@given(st.integers(0, 50), st.integers(120, 200))
@examples(max_examples=20, deadline=None)
def test_held_out_questions_are_in_no_training_example(seed, size):
    pairs = pretraining_pairs(forum(size), seed)
    held = {example.title for example in pairs.heldout}
    assert len(pairs.heldout) == max(1, round(0.05 * size))
    assert not any(held & {example.title, example.target} for example in pairs.train)
    assert pairs == pretraining_pairs(forum(size), seed)


def test_the_seed_says_what_is_held_out():
    assert pretraining_pairs(forum(), 1).heldout != pretraining_pairs(forum(), 2).heldout


@pytest.mark.parametrize("posts", [(), (question(1),), (Post("a", "only titles"), Post("b", "x"))])
def test_too_little_to_learn_from(posts):
    pools = {"train": (), "dev": ()}
    with pytest.raises(AskonceError, match="needs at least 2"):
        pretraining_pairs(Dataset("small", pools, corpus=posts))


@pytest.mark.data
def test_pairs_of_a_forum(data_folder):
    dataset = load_dataset("travel", data_folder)
    pairs = pretraining_pairs(dataset)
    assert len(pairs.heldout) == round(0.05 * 4919)
    own = sum(example.title == example.target for example in pairs.train)
    assert own == 4919 - len(pairs.heldout)
    kept_apart = {p.query.title for name in ("dev", "test") for p in dataset.split(name)}
    marked = [example for example in pairs.train if example.title != example.target]
    assert 2_000 < len(marked) < 2 * 1753
    assert not any(kept_apart & {example.title, example.target} for example in marked)


# --- the encoder-decoder ---


def coded(*rows):
    return View.of([np.array(row, dtype=np.int64) for row in rows])


@pytest.fixture(params=["rcnn", "lstm", "gru"])
def model(request):
    torch.manual_seed(3)
    found = EncoderDecoder(make(request.param).model, sampled=0)
    for name, parameter in found.named_parameters():
        if not name.startswith("encoder.words"):
            torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return found.eval()


def test_the_decoder_has_weights_of_its_own(model):
    encoder = sum(p.numel() for p in model.encoder.layers.parameters())
    size = len(model.encoder.words.weight)
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert trainable == 2 * encoder + 24 * size + size
    assert {p.data_ptr() for p in model.layers.parameters()}.isdisjoint(
        p.data_ptr() for p in model.encoder.parameters()
    )


def test_texts_of_a_batch_do_not_touch_each_other(model):
    sources = [[5, 6, 7, 8, 9], [4], [3, 2, 10]]
    targets = [[2], [9, 8, 7, 6], [5, 4]]
    with torch.no_grad():
        together = model(coded(*sources), coded(*targets))
        alone = [model(coded(s), coded(t)) for s, t in zip(sources, targets, strict=True)]
    torch.testing.assert_close(together, torch.stack(alone).sum())


@torch.no_grad()
def test_a_word_is_guessed_from_the_source_and_the_words_before_it(model):
    states = model.states(coded([5, 6]), coded([2, 3, 4]))
    last_changed = model.states(coded([5, 6]), coded([2, 3, 9]))
    torch.testing.assert_close(states[:3], last_changed[:3], rtol=0, atol=0)
    assert not torch.allclose(states[3], last_changed[3])
    assert not torch.allclose(states[0], model.states(coded([5, 7]), coded([2, 3, 4]))[0])


@torch.no_grad()
def test_the_loss_is_that_of_the_words_and_the_end(model):
    states = model.states(coded([5, 6]), coded([2, 3]))  # (3, d)
    chances = (states @ model.output.T + model.bias).log_softmax(1)
    expected = -(chances[0, 2] + chances[1, 3] + chances[2, 0])
    torch.testing.assert_close(model(coded([5, 6]), coded([2, 3])), expected)


@torch.no_grad()
def test_the_decoder_goes_on_from_the_whole_final_state(model):
    """With the encoder's weights, decoding is reading on: the text, a word of zeros, the title."""
    model.layers.load_state_dict(model.encoder.layers.state_dict())
    decoded = model.states(coded([5, 6]), coded([2, 3]))
    vectors = model.encoder.inputs(coded([5, 6, 0, 2, 3]))
    read, _ = model.encoder.layers[0](vectors, torch.ones(1, 5, dtype=torch.bool))
    torch.testing.assert_close(decoded, read[0, 2:])


def test_every_layer_starts_from_its_own(tmp_path):
    model = EncoderDecoder(make("lstm", depth=2).model)
    model(coded([5, 6]), coded([2, 3])).backward()
    assert len(model.layers) == 2
    assert all(p.grad.abs().sum() > 0 for p in model.parameters() if p.requires_grad)


def softmax_inputs(rows, size=50, dim=6):
    torch.manual_seed(0)
    states, weights = torch.randn(rows, dim).double(), torch.randn(size, dim).double()
    inputs = [t.requires_grad_() for t in (states, weights, torch.randn(size).double())]
    return inputs, torch.randint(size, (rows,))


@pytest.mark.parametrize("rows", [1, 256, 700])
def test_the_softmax_in_parts_is_cross_entropy(rows):
    (states, weights, bias), targets = softmax_inputs(rows)
    plain = F.cross_entropy(F.linear(states, weights, bias), targets, reduction="sum")
    expected = torch.autograd.grad(2 * plain, (states, weights, bias))
    value = surprise(states, weights, bias, targets)
    torch.testing.assert_close(value, plain)
    found = torch.autograd.grad(2 * value, (states, weights, bias))
    torch.testing.assert_close(found, expected)
    with torch.no_grad():
        torch.testing.assert_close(surprise(states, weights, bias, targets), plain)


def test_sampling_all_the_time_is_the_softmax():
    (states, weights, bias), targets = softmax_inputs(20)
    full = surprise(states, weights, bias, targets)
    many = sampled_surprise(states, weights, bias, targets, 200_000)
    torch.testing.assert_close(many, full, rtol=0.01, atol=0)


# --- figures ---


def test_unigram_perplexity_by_hand():
    train = [Coded(*(np.array(row) for row in ([2], [2], [2, 2, 3])))]
    heldout = HeldOut([Coded(*(np.array(row) for row in ([4], [4], [2, 4])))])
    # of 4 + 5 counts: word 2 has 3, word 4 has 1, the end has 2
    expected = (3 / 9 * 1 / 9 * 2 / 9) ** (-1 / 3)
    assert heldout.unigram_perplexity(train, 5) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["rcnn", "lstm", "gru"])
def test_perplexity_starts_at_the_size_of_the_vocabulary_and_falls(name, tmp_path):
    history = run(tmp_path, name, epochs=2)
    assert history[0]["perplexity"] == pytest.approx(history[0]["vocabulary"], rel=0.05)
    assert history[2]["perplexity"] < history[1]["perplexity"] < history[0]["perplexity"]


@pytest.mark.parametrize("sampled", [0, 20])
def test_titles_are_foretold_better_than_by_frequency(sampled, tmp_path):
    history = run(tmp_path, epochs=5, rate=1e-2, sampled=sampled)
    assert history[-1]["perplexity"] < history[-1]["unigram_perplexity"] / 2
    assert max(record["dev"]["MRR"] for record in history[1:]) > 1.5 * history[0]["dev"]["MRR"]


def test_answers_foretell_questions(tmp_path):
    history = run(tmp_path, dataset=help_desk(), epochs=10, patience=10, rate=1e-2, batch_size=8)
    assert history[-1]["perplexity"] < history[-1]["unigram_perplexity"] / 2


def test_dev_is_ranked_by_the_last_states_of_titles(tmp_path):
    dataset = forum()
    history = run(tmp_path, dataset=dataset)
    loaded = Ranker.load(tmp_path)
    best = max(history[1:], key=lambda record: record["dev"]["MRR"])
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
    one = Coded(*(np.array(row) for row in ([2], [3, 4], [5])))
    two = Coded(*(np.array(row) for row in ([6], [], [7])))
    titles, bodies = contexts([one, two])
    assert [text.tolist() for text in titles[0]] == [[2], [6]]
    assert [text.tolist() for text in bodies[0]] == [[3, 4]]
    assert [text.tolist() for text in bodies[1]] == [[5]]


def test_an_epoch_has_every_example_once():
    rows = [Coded(np.array([n]), np.arange(n % 5), np.array([n])) for n in range(1000)]
    for seed in ((1, 1), (1, 2)):
        found = [e.title[0] for batch in shuffled(rows, 16, seed) for e in batch]
        assert sorted(found) == list(range(1000))
        assert found != sorted(found)


@pytest.mark.parametrize("name", ["rcnn", "lstm", "gru"])
def test_the_folder_holds_the_encoder_of_the_best_epoch(name, tmp_path):
    dataset, texts = forum(), [np.array([5, 6, 7]), np.array([9, 8])]
    ranker = make(name, dataset)
    states = [last_states(ranker.model, texts)]

    def tell(kind, figures):
        if kind == "epoch" and figures["best"]:
            states.append(last_states(ranker.model, texts))

    settings = PretrainSettings(epochs=2, batch_size=32)
    history = pretrain(ranker, dataset, settings, tmp_path, tell)
    loaded = Ranker.load(tmp_path)
    assert torch.equal(last_states(loaded.model, texts), states[-1])
    assert not torch.allclose(states[-1], states[0], atol=1e-3)
    assert torch.equal(loaded.model.words.weight, make(name, dataset).model.words.weight)
    assert loaded.card["dev MRR of titles"] == round(max(r["dev"]["MRR"] for r in history[1:]), 4)


class Stopped(Exception):
    """Stands for Ctrl-C in the middle of a batch."""


@pytest.mark.parametrize(("name", "sampled"), [("rcnn", 0), ("lstm", 10)])
def test_a_resumed_run_equals_an_uninterrupted_one(name, sampled, tmp_path):
    dataset, settings = forum(), PretrainSettings(epochs=3, batch_size=32, sampled=sampled)
    whole = pretrain(make(name, dataset), dataset, settings, tmp_path / "whole")
    steps = itertools.count()

    def stop(kind, figures):
        if kind == "step" and figures["epoch"] == 2 and next(steps) == 2:
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
        PretrainSettings(batch_size=0)


# --- the picture ---


def test_a_run_is_drawn(tmp_path, drawing):
    run(tmp_path, epochs=1)
    assert (tmp_path / "pretraining.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_a_run_has_no_picture_and_asking_for_one_says_why(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    history = run(tmp_path, epochs=1)
    assert not (tmp_path / "pretraining.png").exists()
    with pytest.raises(MissingExtra, match=r"askonce\[plots\]"):
        pretraining_plot.draw({"rcnn": history}, tmp_path / "asked.png")
