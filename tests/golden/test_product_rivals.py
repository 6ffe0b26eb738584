"""Rivals that read each text into one vector, against a plain numpy version of each."""

import numpy as np

from tests.golden.plain_rivals import (
    PAIRS,
    Arrays,
    idf,
    linear,
    model,
    relu,
    scores,
    vectors,
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
