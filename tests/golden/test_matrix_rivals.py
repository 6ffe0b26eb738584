"""Rivals in which the words of two texts meet, against a plain numpy version of each."""

import numpy as np
import pytest
import torch

from askonce.models import MODELS
from tests.golden.plain_rivals import (
    PAIRS,
    batch,
    embedding,
    linear,
    log_odds,
    lstm,
    model,
    relu,
    scores,
    sigmoid,
    vectors,
    windows,
)


def test_arc_i():
    made, arrays = model("arc-i", filters=3, hidden=4, layers=3)

    def read(text: list[int], side: str) -> np.ndarray:
        states = vectors(arrays, text)
        for layer in range(3):
            if layer:
                states = np.stack([states[t : t + 2].max(0) for t in range(0, len(states), 2)])
            name = f"{side}.layers.{layer}.filters"
            states = np.stack([relu(linear(arrays, name, w)) for w in windows(states, 3, 1, 1)])
        return states.max(0)

    expected = [log_odds(arrays, read(q, "of_query"), read(a, "of_candidate")) for q, a in PAIRS]
    np.testing.assert_allclose(scores(made), expected, rtol=1e-9)


def test_arc_ii():
    made, arrays = model("arc-ii", filters=2, hidden=4)

    def convolved(grid: np.ndarray, layer: int) -> np.ndarray:
        weight, bias = arrays[f"layers.{layer}.weight"], arrays[f"layers.{layer}.bias"]
        rows, columns, _ = grid.shape
        framed = np.pad(grid, ((1, 1), (1, 1), (0, 0)))
        out = np.zeros_like(grid)
        for i in range(rows):
            for j in range(columns):
                block = framed[i : i + 3, j : j + 3]  # (3, 3, C)
                out[i, j] = relu(np.einsum("ocxy,xyc->o", weight, block) + bias)
        return out

    def pooled(grid: np.ndarray) -> np.ndarray:
        rows, columns, _ = grid.shape
        return np.stack(
            [
                np.stack([grid[i : i + 2, j : j + 2].max((0, 1)) for j in range(0, columns, 2)])
                for i in range(0, rows, 2)
            ]
        )

    def score(query: list[int], answer: list[int]) -> float:
        q = [
            linear(arrays, "of_query.filters", w) for w in windows(vectors(arrays, query), 3, 1, 1)
        ]
        a = [
            linear(arrays, "of_candidate.filters", w)
            for w in windows(vectors(arrays, answer), 3, 1, 1)
        ]
        grid = np.stack([np.stack([relu(x + y) for y in a]) for x in q])  # (Tq, Ta, C)
        for layer in range(2):
            grid = convolved(pooled(grid), layer)
        return log_odds(arrays, grid.max((0, 1)))

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-9)


def test_arc_parameters_by_hand():
    made = MODELS["arc-i"]
    stack = 3 * 50 * 200 + 200 + 3 * 200 * 200 + 200
    dense = 400 * 128 + 128 + 2 * 128 + 2
    assert made(made.Config(), embedding(dim=50)).trainable_parameters() == 2 * stack + dense
    made = MODELS["arc-ii"]
    first, further = 2 * 3 * 50 * 200 + 200, 2 * (9 * 200 * 200 + 200)
    dense = 200 * 128 + 128 + 2 * 128 + 2
    assert made(made.Config(), embedding(dim=50)).trainable_parameters() == first + further + dense


def test_mv_lstm():
    made, arrays = model("mv-lstm", hidden=3, slices=2, top=4, dense=3)
    matrices = arrays["tensor.tensor.weight"].reshape(2, 6, 6)  # (c, a, q)

    def read(text: list[int]) -> np.ndarray:
        words = vectors(arrays, text)
        backwards = lstm(arrays, "lstm.backwards", words[::-1])[::-1]
        return np.concatenate([lstm(arrays, "lstm.forwards", words), backwards], axis=1)

    def score(query: list[int], answer: list[int]) -> float:
        best = []
        for c, matrix in enumerate(matrices):
            matches = [
                relu(
                    v @ matrix @ u
                    + arrays["tensor.of_query.weight"][c] @ u
                    + arrays["tensor.of_query.bias"][c]
                    + arrays["tensor.of_candidate.weight"][c] @ v
                )
                for u in read(query)
                for v in read(answer)
            ]
            best += sorted([*matches, 0, 0, 0, 0], reverse=True)[:4]
        hidden = relu(linear(arrays, "dense", np.array(best)))
        return linear(arrays, "output", hidden)[0]

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-9)


def test_anmm():
    made, arrays = model("anmm", bins=6)

    def score(query: list[int], answer: list[int]) -> float:
        attention = np.exp([arrays["gate.weight"][0] @ x for x in vectors(arrays, query)])
        attention /= attention.sum()
        values = []
        for word, x in zip(query, vectors(arrays, query), strict=True):
            sums = np.zeros(7)
            for other, y in zip(answer, vectors(arrays, answer), strict=True):
                cosine = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
                sums[6 if word == other else int((cosine + 1) * 3)] += cosine
            values.append(sigmoid(arrays["weights"] @ sums))
        return linear(arrays, "output", np.array([attention @ values]))[0]

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-6)


@pytest.mark.parametrize("code", [-7, 5])
def test_anmm_knows_the_same_word_by_its_code(code):
    made, _ = model("anmm", bins=6)
    with torch.no_grad():
        made.weights.zero_()
        made.weights[6] = 5.0
        same, other = made(batch([code], [code]), batch([code], [-9]))
    assert (same - other).abs() > 0.1
