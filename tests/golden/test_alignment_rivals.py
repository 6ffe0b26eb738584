"""Rivals that align two texts or attend to the partner, against a plain numpy version of each."""

import numpy as np
import pytest
import torch

from askonce.models import MODELS
from askonce.models.rivals.words.iwan import decompose
from tests.golden.plain_rivals import (
    PAIRS,
    STOP,
    Arrays,
    embedding,
    idf,
    linear,
    lstm,
    model,
    relu,
    scores,
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


def bilstm(arrays: Arrays, name: str, inputs: np.ndarray) -> np.ndarray:
    backwards = lstm(arrays, f"{name}.backwards", inputs[::-1])[::-1]
    return np.concatenate([lstm(arrays, f"{name}.forwards", inputs), backwards], axis=1)


def log_odds(arrays: Arrays, inputs: np.ndarray) -> float:
    hidden = relu(linear(arrays, "odds.dense.0", inputs))
    wrong, right = linear(arrays, "odds.dense.3", hidden)
    return float(right - wrong)


def test_iwan():
    made, arrays = model("iwan", hidden=2, attention=3, dense=4)

    def compared(own: np.ndarray, partner: np.ndarray) -> np.ndarray:
        inputs = [np.concatenate([h, partner.mean(0)]) for h in own]
        first = np.concatenate([arrays["of_word.weight"], arrays["of_partner.weight"]], axis=1)
        weights = softmax(
            np.array([arrays["weight.weight"][0] @ np.tanh(first @ x) for x in inputs])
        )
        total = np.zeros(4 * own.shape[1])
        for weight, h in zip(weights, own, strict=True):
            aligned = softmax(partner @ h) @ partner
            parallel = h @ aligned / (aligned @ aligned) * aligned
            total += weight * np.concatenate(
                [np.abs(h - aligned), h * aligned, parallel, h - parallel]
            )
        return total

    def score(query: list[int], answer: list[int]) -> float:
        q, a = (bilstm(arrays, "lstm", vectors(arrays, text)) for text in (query, answer))
        return log_odds(arrays, np.concatenate([compared(q, a), compared(a, q)]))

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-6)


def test_iwan_parts_are_orthogonal_and_add_up():
    states, aligned = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    parallel, rest = decompose(states, aligned)
    torch.testing.assert_close(parallel + rest, states)
    torch.testing.assert_close((parallel * rest).sum(-1), torch.zeros(2, 3), atol=1e-5, rtol=0)


def test_bimpm():
    made, arrays = model("bimpm", hidden=2, perspectives=3)

    def perspectives(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.array([cosine(row * x, row * y) for row in arrays[f"{name}.weight"]])

    def matched(name: str, own: np.ndarray, partner: np.ndarray, end: np.ndarray) -> np.ndarray:
        rows = []
        for h in own:
            cosines = np.array([cosine(h, other) for other in partner])
            by_word = np.stack([perspectives(f"{name}.best", h, other) for other in partner])
            rows.append(
                [
                    *perspectives(f"{name}.full", h, end),
                    *by_word.max(0),
                    *perspectives(f"{name}.attentive", h, cosines @ partner),
                    *perspectives(f"{name}.nearest", h, partner[cosines.argmax()]),
                ]
            )
        return np.array(rows)

    def aggregated(own: np.ndarray, partner: np.ndarray) -> np.ndarray:
        matches = np.concatenate(
            [
                matched("forwards", own[:, :2], partner[:, :2], partner[-1, :2]),
                matched("backwards", own[:, 2:], partner[:, 2:], partner[0, 2:]),
            ],
            axis=1,
        )
        states = bilstm(arrays, "aggregation", matches)
        return np.concatenate([states[-1, :2], states[0, 2:]])

    def score(query: list[int], answer: list[int]) -> float:
        q, a = (bilstm(arrays, "context", vectors(arrays, text)) for text in (query, answer))
        return log_odds(arrays, np.concatenate([aggregated(q, a), aggregated(a, q)]))

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-6)


def test_bimpm_parameters_by_hand():
    made = MODELS["bimpm"]
    context, aggregation = (8 * ((inputs + 100) * 100 + 100) for inputs in (50, 160))
    perspectives, dense = 8 * 20 * 100, 400 * 200 + 200 + 2 * 200 + 2
    assert made(made.Config(), embedding(dim=50)).trainable_parameters() == (
        context + aggregation + perspectives + dense
    )
