"""Rivals that read each text into one vector, against a plain numpy version of each."""

import numpy as np
import pytest

from askonce.models import MODELS
from tests.golden.plain_rivals import (
    PAIRS,
    STOP,
    Arrays,
    batch,
    embedding,
    idf,
    linear,
    model,
    relu,
    scores,
    vectors,
    windows,
)


def log_odds(arrays: Arrays, *parts: np.ndarray) -> float:
    hidden = relu(linear(arrays, "odds.dense.0", np.concatenate(parts)))
    wrong, right = linear(arrays, "odds.dense.3", hidden)
    return float(right - wrong)


def test_wordembed_mlp():
    made, arrays = model("wordembed-mlp", hidden=3)
    expected = [log_odds(arrays, *(vectors(arrays, t).mean(0) for t in pair)) for pair in PAIRS]
    np.testing.assert_allclose(scores(made), expected, rtol=1e-9)


def test_bow_mlp():
    made, arrays = model("bow-mlp", hidden=3)

    def bag(text: list[int]) -> np.ndarray:
        total = sum(idf(word) * arrays["words.weight"][word] for word in text)
        return total / np.linalg.norm(total)

    expected = [log_odds(arrays, *map(bag, pair)) for pair in PAIRS]
    np.testing.assert_allclose(scores(made), expected, rtol=1e-6)


def shared_counts(query: list[int], answer: list[int]) -> np.ndarray:
    shared = (set(query) & set(answer)) - {STOP}
    return np.array([len(shared), sum(idf(word) for word in shared)])


@pytest.mark.parametrize("counts", [False, True])
def test_bigram_cnn(counts):
    made, arrays = model("bigram-cnn", dim=4, counts=counts)

    def read(text: list[int]) -> np.ndarray:
        pairs = windows(vectors(arrays, text), 2, before=0, after=1)
        values = [np.tanh(linear(arrays, "convolution.filters", pair)) for pair in pairs]
        return np.mean(values, axis=0)

    def score(query: list[int], answer: list[int]) -> float:
        product = read(query) @ arrays["of_query.weight"].T @ read(answer) + arrays["bias"][0]
        weighted = shared_counts(query, answer) @ arrays["lift.linear.weight"][0] if counts else 0
        return product + weighted

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-6)


def test_counts_are_standardised_by_training_pairs():
    made, _ = model("bigram-cnn", dim=4, counts=True)
    sides = batch(*(q for q, _ in PAIRS)).text, batch(*(a for _, a in PAIRS)).text
    made.fit_inputs(*sides)
    plain = np.stack([shared_counts(*pair) for pair in PAIRS])
    expected = (plain - plain.mean(0)) / plain.std(0)
    np.testing.assert_allclose(made.features(*sides).numpy(), expected, rtol=1e-6)


def overlap(query: list[int], answer: list[int]) -> np.ndarray:
    features = []
    for dropped in (set(), {STOP}):
        one, other = set(query) - dropped, set(answer) - dropped
        size = len(one) + len(other)
        features += [len(one & other) / size, sum(map(idf, one & other)) / size]
    return np.array(features)


@pytest.mark.parametrize("features", [False, True])
def test_sm_cnn(features):
    made, arrays = model("sm-cnn", filters=3, width=3, overlap=features)

    def read(text: list[int], side: str) -> np.ndarray:
        wide = windows(vectors(arrays, text), 3, before=2, after=2)
        return np.max([np.tanh(linear(arrays, f"{side}.filters", w)) for w in wide], axis=0)

    def score(query: list[int], answer: list[int]) -> float:
        q, a = read(query, "of_query"), read(answer, "of_candidate")
        similarity = q @ arrays["similarity.weight"].T @ a
        parts = [q, [similarity], a, overlap(query, answer) if features else []]
        wrong, right = linear(
            arrays, "output", np.tanh(linear(arrays, "hidden", np.concatenate(parts)))
        )
        return right - wrong

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-6)


@pytest.mark.parametrize(("features", "joined"), [(False, 201), (True, 205)])
def test_sm_cnn_has_the_size_of_the_released_code(features, joined):
    made = MODELS["sm-cnn"]
    made = made(made.Config(overlap=features), embedding(dim=50))
    convolutions = 2 * (5 * 50 * 100 + 100)
    dense = joined * joined + joined + 2 * joined + 2
    assert made.trainable_parameters() == convolutions + 100 * 100 + dense
