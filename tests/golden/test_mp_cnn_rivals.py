"""MP-CNN and Rank MP-CNN against a plain numpy version."""

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from askonce.models import MODELS
from tests.golden.plain_rivals import (
    DIM,
    PAIRS,
    Arrays,
    batch,
    embedding,
    linear,
    model,
    scores,
    vectors,
    windows,
)

POOLS = (np.max, np.min, np.mean)


def compared(x: np.ndarray, y: np.ndarray) -> list[float]:
    distance = max(np.linalg.norm(x - y), 1e-12)
    return [x @ y / (np.linalg.norm(x) * np.linalg.norm(y) + 1e-8), distance]


def read(arrays: Arrays, text: list[int]) -> tuple[list, list]:
    """Pooled holistic filters by pooling and width, and per-dimension ones by filter too."""
    words = vectors(arrays, text)
    holistic = []
    for number, pool in enumerate(POOLS):
        by_width = []
        for width in (1, 2):
            name = f"holistic.{number}.{width - 1}.filters"
            around = windows(words, width, width - 1, width - 1)
            by_width.append(pool(np.stack([np.tanh(linear(arrays, name, w)) for w in around]), 0))
        holistic.append([*by_width, pool(words, 0)])
    single = []
    for number, pool in enumerate(POOLS[:2]):
        for width in (1, 2):
            name = f"per_dimension.{number}.{width - 1}"
            weight, bias = arrays[f"{name}.weight"], arrays[f"{name}.bias"]  # (D, w, F), (D, 1, F)
            around = [w.reshape(width, DIM) for w in windows(words, width, width - 1, width - 1)]
            for f in range(3):
                values = [
                    [np.tanh(weight[d, :, f] @ w[:, d] + bias[d, 0, f]) for d in range(DIM)]
                    for w in around
                ]
                single.append(pool(np.array(values), 0))
    return holistic, single


def joined(arrays: Arrays, query: list[int], answer: list[int]) -> np.ndarray:
    (q, q_single), (a, a_single) = read(arrays, query), read(arrays, answer)
    values: list[float] = []
    for x, y in zip(q, a, strict=True):
        for d in range(DIM):
            values += compared(np.array([v[d] for v in x]), np.array([v[d] for v in y]))
    for x, y in zip(q, a, strict=True):
        for one in x:
            for other in y:
                values += [*compared(one, other), *np.abs(one - other)]
    for one, other in zip(q_single, a_single, strict=True):
        values += [*compared(one, other), *np.abs(one - other)]
    return np.array(values)


def test_mp_cnn():
    made, arrays = model("mp-cnn", widths=2, per_dimension=3, hidden=4)

    def score(query: list[int], answer: list[int]) -> float:
        hidden = np.tanh(linear(arrays, "hidden", joined(arrays, query, answer)))
        wrong, right = linear(arrays, "output", hidden)
        return right - wrong

    np.testing.assert_allclose(scores(made), [score(*pair) for pair in PAIRS], rtol=1e-9)


def test_rank_mp_cnn():
    made, arrays = model("rank-mp-cnn", widths=2, per_dimension=3)
    expected = [linear(arrays, "output", joined(arrays, *pair))[0] for pair in PAIRS]
    np.testing.assert_allclose(scores(made), expected, rtol=1e-9)


def test_comparisons_are_standardised_by_training_pairs():
    made, arrays = model("rank-mp-cnn", widths=2, per_dimension=3)
    made.fit_inputs(batch(*(q for q, _ in PAIRS)).text, batch(*(a for _, a in PAIRS)).text)
    plain = np.stack([joined(arrays, *pair) for pair in PAIRS])
    standardised = (plain - plain.mean(0)) / plain.std(0)
    expected = [linear(arrays, "output", row)[0] for row in standardised]
    np.testing.assert_allclose(scores(made), expected, rtol=1e-6)


def test_the_rate_of_the_public_code_does_not_saturate_the_dense_layer():
    torch.manual_seed(1)
    kind = MODELS["mp-cnn"]
    made = kind(kind.Config(), embedding(size=200, dim=60))
    texts = [torch.randint(2, 200, (5 + n % 9,)).tolist() for n in range(48)]
    query, candidate = batch(*texts), batch(*reversed(texts))
    made.fit_inputs(query.text, candidate.text)
    optimizer = torch.optim.Adam([p for p in made.parameters() if p.requires_grad], lr=4.2e-4)
    hidden = []
    made.hidden.register_forward_hook(lambda *call: hidden.append(call[-1]))
    labels = torch.arange(48).remainder(8).eq(0).float()  # most candidates are wrong
    for _ in range(3):
        optimizer.zero_grad()
        binary_cross_entropy_with_logits(made(query, candidate), labels).backward()
        optimizer.step()
    saturated = (hidden[-1].tanh().abs() > 0.95).float().mean().item()
    assert saturated < 0.3  # without scaling .82


@pytest.mark.parametrize(("name", "count"), [("mp-cnn", 9_611_552), ("rank-mp-cnn", 1_783_237)])
def test_parameters_with_word_vectors_of_300(name, count):
    made = MODELS[name]
    built = made(made.Config(), embedding(dim=300))
    assert built.joined_dim == 52_536
    assert built.trainable_parameters() == count
