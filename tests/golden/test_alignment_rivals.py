"""Rivals that align two texts or attend to the partner, against a plain numpy version of each."""

import numpy as np
import pytest
import torch

from askonce.models import MODELS
from tests.golden.plain_rivals import (
    PAIRS,
    STOP,
    Arrays,
    embedding,
    idf,
    linear,
    model,
    relu,
    scores,
    sigmoid,
    vectors,
    windows,
)


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y) + 1e-8))


def softmax(values: np.ndarray) -> np.ndarray:
    shares = np.exp(values - values.max())
    return shares / shares.sum()


def closeness(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.array([[1 / (1 + np.linalg.norm(x - y)) for y in right] for x in left])


@pytest.mark.parametrize("variant", [0, 1, 2, 3])
def test_abcnn(variant):
    made, arrays = model("abcnn", variant=variant, layers=2, filters=3, width=2, longest=4)

    def maps(pairs: np.ndarray, layer: int) -> np.ndarray:
        weight = arrays[f"blocks.{layer}.maps.weight"]  # (D, longest)
        count = min(pairs.shape[1], 4)
        return pairs[:, :count] @ weight[:, :count].T

    def block(left: np.ndarray, right: np.ndarray, layer: int):
        if variant in (1, 3):
            pairs = closeness(left, right)
            left, right = (
                np.concatenate([left, maps(pairs, layer)], axis=1),
                np.concatenate([right, maps(pairs.T, layer)], axis=1),
            )
        name = f"blocks.{layer}.convolution.filters"
        left, right = (
            np.stack([np.tanh(linear(arrays, name, w)) for w in windows(side, 2, 1, 1)])
            for side in (left, right)
        )
        pairs = closeness(left, right)
        weights = (pairs.sum(1), pairs.sum(0))
        if variant in (0, 1):
            weights = (np.ones(len(left)), np.ones(len(right)))
        left, right = left * weights[0][:, None], right * weights[1][:, None]
        divisor = 1 if variant in (2, 3) else 2
        pooled = [(side[:-1] + side[1:]) / divisor for side in (left, right)]
        return pooled, cosine(left.sum(0), right.sum(0))

    def score(query: list[int], answer: list[int]) -> float:
        left, right = vectors(arrays, query), vectors(arrays, answer)
        inputs = [cosine(left.sum(0), right.sum(0))]
        for layer in range(2):
            (left, right), similarity = block(left, right, layer)
            inputs.append(similarity)
        shared = {word for word in query if word in answer and word != STOP}
        inputs += [len(shared), sum(map(idf, shared)), len(query), len(answer)]
        return linear(arrays, "output", np.array(inputs))[0]

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-6)


def test_abcnn_parameters_by_hand():
    made = MODELS["abcnn"]
    maps, first, second = 60 * 50 + 60 * 50, 4 * 100 * 50 + 50, 4 * 100 * 50 + 50
    assert made(made.Config(), embedding(dim=50)).trainable_parameters() == (
        maps + first + second + 3 + 4 + 1
    )
