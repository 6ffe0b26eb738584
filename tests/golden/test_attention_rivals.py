"""Rivals with attention inside an encoder or a memory, against a plain numpy version of each."""

import numpy as np
import pytest
import torch

from askonce.models import MODELS
from askonce.models.language_model import LanguageModel
from tests.golden.plain_rivals import (
    PAIRS,
    batch,
    embedding,
    linear,
    lstm,
    model,
    relu,
    scores,
    sigmoid,
    vectors,
    windows,
)


def softmax(values: np.ndarray) -> np.ndarray:
    shares = np.exp(values - values.max())
    return shares / shares.sum()


def test_ai_cnn():
    made, arrays = model("ai-cnn", filters=3, slices=2, dense=4)
    matrices = arrays["tensor.tensor.weight"].reshape(2, 3, 3)  # (K, a, q)

    def segments(text: list[int]) -> np.ndarray:
        around = windows(vectors(arrays, text), 3, 1, 1)
        return np.stack([np.tanh(linear(arrays, "convolution.filters", w)) for w in around])

    def interaction(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        product = np.array([v @ matrix @ u for matrix in matrices])
        sides = linear(arrays, "tensor.of_query", u) + linear(arrays, "tensor.of_candidate", v)
        return np.tanh(product + sides)

    def joined(rows: np.ndarray, side: str) -> np.ndarray:
        hidden = np.tanh(rows @ arrays[f"{side}.hidden.weight"].T)
        return softmax(hidden @ arrays[f"{side}.weight.weight"][0]) @ rows

    def score(query: list[int], answer: list[int]) -> float:
        grid = np.array([[interaction(u, v) for v in segments(answer)] for u in segments(query)])
        both = [joined(grid.max(1), "of_query"), joined(grid.max(0), "of_candidate")]
        hidden = relu(linear(arrays, "odds.dense.0", np.concatenate(both)))
        wrong, right = linear(arrays, "odds.dense.3", hidden)
        return right - wrong

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-9)


def test_ai_cnn_has_near_140k_parameters():
    made = MODELS["ai-cnn"]
    count = made(made.Config(), embedding(dim=100)).trainable_parameters()
    by_hand = (300 * 100 + 100) + (10 * 100 * 100 + 2 * 10 * 100 + 10) + 2 * (10 * 10 + 10)
    assert count == by_hand + (20 * 64 + 64 + 2 * 64 + 2)
    assert abs(count - 140_000) < 7_000


@pytest.mark.parametrize("attention", ["word", "context", "gate"])
def test_iarnn(attention):
    made, arrays = model("iarnn", attention=attention, dim=3)
    of_z, of_f, of_h = np.split(arrays["gru.input.weight"], 3)
    from_z, from_f = np.split(arrays["gru.gates.weight"], 2)

    def read(text: list[int], question: np.ndarray | None) -> np.ndarray:
        h, states = np.zeros(3), []
        for x in vectors(arrays, text):
            add_z = add_f = np.zeros(3)
            if question is not None:
                asked = arrays["gru.question.weight"] @ question
                if attention == "gate":
                    add_z, add_f = np.split(asked, 2)
                else:
                    before = arrays["gru.context.weight"] @ h if attention == "context" else 0
                    x = sigmoid((asked + before) @ x) * x
            z = sigmoid(of_z @ x + from_z @ h + add_z)
            f = sigmoid(of_f @ x + from_f @ h + add_f)
            h = (1 - z) * h + z * np.tanh(of_h @ x + arrays["gru.recurrent.weight"] @ (f * h))
            states.append(h)
        return np.mean(states, axis=0)

    def score(query: list[int], answer: list[int]) -> float:
        q = read(query, None)
        a = read(answer, q)
        return 1 / (1 + np.linalg.norm(q - a)) * sigmoid(q @ a + 1)

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-9)


def test_kv_memnn():
    made, arrays = model("kv-memnn", dim=4, window=3, hops=2)

    def score(query: list[int], answer: list[int]) -> float:
        words = vectors(arrays, answer)
        keys = [
            linear(arrays, "embed", words[max(i - 1, 0) : i + 2].mean(0)) for i in range(len(words))
        ]
        values = [linear(arrays, "embed", word) for word in words]
        q = linear(arrays, "embed", vectors(arrays, query).mean(0))
        for hop in range(2):
            weights = softmax(np.array([key @ q for key in keys]))
            q = linear(arrays, f"hops.{hop}", q + weights @ np.array(values))
        return q @ linear(arrays, "answer", words.mean(0))

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-9)


def test_elmo():
    made, arrays = model("elmo", hidden=2, layers=2, dim=3)

    def stack(name: str, words: np.ndarray) -> list[np.ndarray]:
        first = {key.replace("_l1", "_l2"): value for key, value in arrays.items()}
        second = {key.replace("_l1", "_l0"): value for key, value in arrays.items() if "_l1" in key}
        lower = lstm(first, name, words)
        return [lower, lstm(second, name, lower)]

    def read(text: list[int], side: str) -> np.ndarray:
        words = vectors(arrays, text)
        right = stack(f"of_{side}.rightward", words)
        left = [states[::-1] for states in stack(f"of_{side}.leftward", words[::-1])]
        layers = np.stack([np.concatenate(pair, axis=1) for pair in zip(right, left, strict=True)])
        shares = softmax(arrays[f"{side}_mix.logits"])
        mixed = arrays[f"{side}_mix.scale"] * np.tensordot(shares, layers, 1)
        inputs = np.concatenate([words, mixed], axis=1)
        return np.stack([relu(linear(arrays, "project", x)) for x in inputs])

    def compared(own: np.ndarray, partner: np.ndarray) -> np.ndarray:
        rows = []
        for x in own:
            y = softmax(partner @ x) @ partner
            rows.append(relu(linear(arrays, "comparison", np.concatenate([x, y, x - y, x * y]))))
        return np.concatenate([np.mean(rows, axis=0), np.max(rows, axis=0)])

    def score(query: list[int], answer: list[int]) -> float:
        q, a = read(query, "query"), read(answer, "candidate")
        both = np.concatenate([compared(q, a), compared(a, q)])
        hidden = relu(linear(arrays, "odds.dense.0", both))
        wrong, right = linear(arrays, "odds.dense.3", hidden)
        return right - wrong

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-9)


def test_elmo_reads_as_its_language_models_do():
    made = MODELS["elmo"](MODELS["elmo"].Config(hidden=4), embedding())
    asking, answering = (LanguageModel(embedding(), hidden=4) for _ in range(2))
    made.load_language_models(asking, answering)
    view = batch([2, 3, 4], [5]).text
    for side, language in (("query", asking), ("candidate", answering)):
        words = made.words(view)
        states = made.recurrence(side).layer_states(words, view.lengths)
        assert states.shape == (2, 3, 2, 8)
        torch.testing.assert_close(states[:, :, -1], language.recurrence(words, view.lengths))
        assert not states.requires_grad
