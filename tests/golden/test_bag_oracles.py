"""Bag: vectors and scores against a few lines of numpy."""

import numpy as np
import pytest
import torch

from askonce.errors import ConfigError
from askonce.models.bag import Bag
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.types import Post

BEND = ("linear.weight", "inner.weight", "inner.bias", "outer.weight")  # of a residual layer
TEXTS = ["brakes squeal when wet", "wet brakes", "a chain that jumps", "the chain squeals"]


def ranker(**options: object) -> Ranker:
    lexicon = Lexicon.build(Post(text, title=text) for text in TEXTS)
    vectors = np.random.default_rng(1).normal(size=(len(lexicon.vocabulary), 5)).astype(np.float32)
    made = Ranker.create("bag", lexicon, vectors, options)
    with torch.no_grad():
        for weight in made.model.maps.parameters():
            noise = torch.randn(weight.shape, generator=torch.Generator().manual_seed(2))
            weight.add_(0.3 * noise)
    return Ranker("bag", made.model, lexicon)


def by_hand(made: Ranker, text: str, side: int = 0) -> np.ndarray:
    """Word by word; words that the vocabulary lacks are skipped."""
    vocabulary = made.lexicon.vocabulary
    weights = {key: value.numpy() for key, value in made.model.state_dict().items()}
    total = np.zeros(5)
    for word in text.split():
        if word in vocabulary.words[2:]:
            row = vocabulary.words.index(word)
            frequency = sum(word in known.split() for known in TEXTS)
            total += np.log(1 + len(TEXTS) / frequency) * weights["words.weight"][row]
    if f"maps.{side}.weight" in weights:
        total = weights[f"maps.{side}.weight"] @ total
    if f"maps.{side}.inner.weight" in weights:
        bend = {name: weights[f"maps.{side}.{name}"] for name in BEND}
        unit = total / max(np.linalg.norm(total), 1e-12)
        inner = np.maximum(bend["inner.weight"] @ unit + bend["inner.bias"], 0)
        total = bend["linear.weight"] @ unit + bend["outer.weight"] @ inner
    return total / max(np.linalg.norm(total), 1e-12)


def test_vectors_are_weighted_sums():
    for options in ({}, {"map": False}, {"sides": 2}, {"sides": 2, "hidden": 7}):
        made = ranker(**options)
        side = made.model.config.sides - 1
        for text in [*TEXTS, "brakes brakes unicorn", "unicorn", ""]:
            np.testing.assert_allclose(made.encode(text), by_hand(made, text), atol=1e-6)
            expected = by_hand(made, text, side)
            np.testing.assert_allclose(made.encode_document(text), expected, atol=1e-6)


@pytest.mark.parametrize("hidden", [0, 7])
def test_the_table_equals_the_model_that_was_trained(hidden):
    made = ranker(sides=2, hidden=hidden)
    batch = made.lexicon.batch([Post("a", title=TEXTS[0], body="unicorn"), Post("b")])
    model: Bag = made.model
    with torch.no_grad():
        for side in ("query", "candidate"):
            model.train().eval()  # without its tables
            assert model.tables is None
            plain = model.encode_side(batch, side)
            model.prepare()
            torch.testing.assert_close(model.encode_side(batch, side), plain)


def test_inspect_gives_the_size_of_each_words_part():
    made = ranker()
    shown = made.explain("brakes unicorn", "chain").words[0]
    assert shown.words == ["brakes", "unicorn"]
    row = made.lexicon.vocabulary.words.index("brakes")
    size = made.model.weights[row] * made.model.words.weight[row].norm()
    np.testing.assert_allclose(shown.weights, [size.item(), 0], rtol=1e-5)


def test_a_map_can_follow_another():
    made = ranker(hidden=7)
    bend, last = made.model.maps[0], torch.nn.Linear(5, 5, bias=False)
    vectors = torch.randn(3, 5)
    with torch.no_grad():
        expected = last(bend(vectors))
        bend.follow(last)
        torch.testing.assert_close(bend(vectors), expected)


def test_a_negative_width_is_refused():
    with pytest.raises(ConfigError, match="hidden"):
        ranker(hidden=-3)
