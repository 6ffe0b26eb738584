"""Bag: vectors and scores against a few lines of numpy."""

import numpy as np
import torch

from askonce.models.bag import Bag
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.types import Post

TEXTS = ["brakes squeal when wet", "wet brakes", "a chain that jumps", "the chain squeals"]


def ranker(**options: object) -> Ranker:
    lexicon = Lexicon.build(Post(text, title=text) for text in TEXTS)
    vectors = np.random.default_rng(1).normal(size=(len(lexicon.vocabulary), 5)).astype(np.float32)
    made = Ranker.create("bag", lexicon, vectors, options)
    with torch.no_grad():
        for linear in made.model.maps:
            linear.weight.add_(0.3 * torch.randn(5, 5, generator=torch.Generator().manual_seed(2)))
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
    return total / max(np.linalg.norm(total), 1e-12)


def test_vectors_are_weighted_sums():
    for options in ({}, {"map": False}, {"sides": 2}):
        made = ranker(**options)
        side = made.model.config.sides - 1
        for text in [*TEXTS, "brakes brakes unicorn", "unicorn", ""]:
            np.testing.assert_allclose(made.encode(text), by_hand(made, text), atol=1e-6)
            expected = by_hand(made, text, side)
            np.testing.assert_allclose(made.encode_document(text), expected, atol=1e-6)


def test_the_table_equals_the_model_that_was_trained():
    made = ranker(sides=2)
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
