"""Rivals that read each text into one vector, against a plain numpy version of each."""

import numpy as np
import pytest
import torch

from askonce.models import MODELS
from askonce.models.layers.interaction import circular_correlation
from tests.golden.plain_rivals import (
    PAIRS,
    STOP,
    Arrays,
    batch,
    embedding,
    idf,
    linear,
    log_odds,
    lstm,
    model,
    scores,
    vectors,
    windows,
)

IDF_ERROR = 1e-7  # models keep idf in single precision


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
    np.testing.assert_allclose(scores(made), expected, atol=IDF_ERROR)


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

    np.testing.assert_allclose(
        scores(made), [score(*pair) for pair in PAIRS], atol=1e-7
    )  # idf is single precision


def test_counts_are_standardised_by_training_pairs():
    made, _ = model("bigram-cnn", dim=4, counts=True)
    sides = batch(*(q for q, _ in PAIRS)).text, batch(*(a for _, a in PAIRS)).text
    made.fit_inputs(*sides)
    plain = np.stack([shared_counts(*pair) for pair in PAIRS])
    expected = (plain - plain.mean(0)) / plain.std(0)
    np.testing.assert_allclose(
        made.features(*sides).numpy(), expected, atol=1e-7
    )  # idf is single precision


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

    np.testing.assert_allclose(
        scores(made), [score(*pair) for pair in PAIRS], atol=1e-7
    )  # idf is single precision


@pytest.mark.parametrize(("features", "joined"), [(False, 201), (True, 205)])
def test_sm_cnn_has_the_size_of_the_released_code(features, joined):
    made = MODELS["sm-cnn"]
    made = made(made.Config(overlap=features), embedding(dim=50))
    convolutions = 2 * (5 * 50 * 100 + 100)
    dense = joined * joined + joined + 2 * joined + 2
    assert made.trainable_parameters() == convolutions + 100 * 100 + dense


def tensor_score(arrays: Arrays, query: np.ndarray, answer: np.ndarray) -> float:
    slices, size = arrays["tensor.of_query.weight"].shape
    matrices = arrays["tensor.tensor.weight"].reshape(slices, size, size)  # (r, a, q)
    hidden = [
        sum(answer[i] * matrix[i, j] * query[j] for i in range(size) for j in range(size))
        for matrix in matrices
    ]
    hidden += linear(arrays, "tensor.of_query", query) + linear(
        arrays, "tensor.of_candidate", answer
    )
    return arrays["output.weight"][0] @ np.tanh(hidden)


def test_cntn():
    made, arrays = model("cntn", filters=3, width=2, top=2, dim=4, slices=2)

    def keep(states: np.ndarray, k: int) -> np.ndarray:
        """The k greatest values of each column, in order, and zeros where there are fewer."""
        columns = []
        for column in states.T:
            places = sorted(np.argsort(-column)[:k])
            columns.append([column[index] for index in places] + [0.0] * (k - len(places)))
        return np.array(columns).T

    def read(text: list[int]) -> np.ndarray:
        states = vectors(arrays, text)
        for layer, k in enumerate((max(2, -(-len(text) // 2)), 2)):
            wide = windows(states, 2, before=1, after=1)
            filters = [linear(arrays, f"convolutions.{layer}.filters", w) for w in wide]
            states = np.tanh(keep(np.stack(filters), k))
        return np.tanh(linear(arrays, "text", states.ravel()))

    expected = [tensor_score(arrays, read(q), read(a)) for q, a in PAIRS]
    np.testing.assert_allclose(scores(made), expected, rtol=1e-9)


def last_states(arrays: Arrays, query: list[int], answer: list[int]) -> list[np.ndarray]:
    return [
        lstm(arrays, f"lstm.{side}", vectors(arrays, text))[-1]
        for side, text in (("of_query", query), ("of_candidate", answer))
    ]


def test_ntn_lstm():
    made, arrays = model("ntn-lstm", dim=3, slices=2)
    expected = [tensor_score(arrays, *last_states(arrays, *pair)) for pair in PAIRS]
    np.testing.assert_allclose(scores(made), expected, rtol=1e-9)


def correlated(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    size = len(one)
    return np.array([sum(one[i] * other[(i + k) % size] for i in range(size)) for k in range(size)])


def test_circular_correlation_of_the_specification():
    one, other = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 5.0, 6.0])
    expected = torch.tensor([32.0, 29.0, 29.0])
    torch.testing.assert_close(circular_correlation(one, other), expected)


@pytest.mark.parametrize(("dim", "features"), [(3, False), (4, True)])
def test_hd_lstm(dim, features):
    made, arrays = model("hd-lstm", dim=dim, hidden=3, overlap=features)

    def score(query: list[int], answer: list[int]) -> float:
        q, a = last_states(arrays, query, answer)
        similarity = q @ arrays["similarity.weight"].T @ a
        parts = [correlated(q, a), [similarity], overlap(query, answer) if features else []]
        hidden = np.tanh(linear(arrays, "hidden", np.concatenate(parts)))
        wrong, right = linear(arrays, "output", hidden)
        return right - wrong

    np.testing.assert_allclose(
        scores(made), [score(*pair) for pair in PAIRS], atol=1e-7
    )  # idf is single precision


def test_parameters_of_the_lstm_rivals_by_hand():
    """A holographic layer needs d values for each hidden unit, a tensor layer d² for each slice."""
    lstms = 2 * 4 * (640 * (50 + 640) + 640)
    made = MODELS["ntn-lstm"]
    tensor = 5 * 640 * 640 + 5 * 1280 + 5 + 5
    assert made(made.Config(), embedding(dim=50)).trainable_parameters() == lstms + tensor
    made = MODELS["hd-lstm"]
    dense = 640 * 640 + 64 * 641 + 64 + 2 * 64 + 2
    assert made(made.Config(), embedding(dim=50)).trainable_parameters() == lstms + dense
