"""The gated convolution against numbers computed apart from it; the published parameter counts."""

import numpy as np
import pytest
import torch

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit
from askonce.models.layers.cells import Cell, ConvolutionCell
from askonce.models.layers.gated_convolution import GatedConvolution
from askonce.text.batch import Batch, TokenIds

SHUT, OPEN = -1e4, 1e4  # biases at which a gate is exactly 0 and exactly 1


def wave(shape, phase):
    flat = 0.5 * np.sin(phase + 0.7 * np.arange(int(np.prod(shape))))
    return torch.tensor(flat.reshape(shape))


def close(actual, expected):
    torch.testing.assert_close(
        actual.detach(), torch.tensor(expected, dtype=torch.float64), atol=1e-6, rtol=0
    )


@pytest.fixture
def words():
    return wave((5, 3), 0.5).unsqueeze(0)


@pytest.fixture
def cell():
    cell = GatedConvolution(3, 2, order=2).double()
    load(
        cell, filters=torch.stack([wave((3, 2), 0.1).T, wave((3, 2), 0.2).T]), bias=wave((2,), 0.3)
    )
    load(
        cell,
        gate_input=wave((3, 2), 0.4).T,
        gate_recurrent=wave((2, 2), 0.5).T,
        gate_bias=wave((2,), 0.6),
    )
    return cell


def load(cell: Cell, **weights):
    with torch.no_grad():
        for name, value in weights.items():
            getattr(cell, name).copy_(torch.as_tensor(value))


def fix_gate(cell, bias):
    load(cell, gate_input=0, gate_recurrent=0, gate_bias=bias)


def run(cell, words):
    states, final = cell(words, torch.ones(words.shape[:2], dtype=torch.bool))
    return states[0], tuple(part[0] for part in final)


def test_learned_gate(cell, words):
    states, (h, c) = run(cell, words)
    close(
        states,
        [
            [0.249081, 0.440049],
            [0.236693, 0.480477],
            [0.112858, 0.371680],
            [0.192503, 0.400252],
            [0.176450, 0.441093],
        ],
    )
    close(c, [[0.001842, 0.045306], [0.030556, 0.052852]])
    torch.testing.assert_close(h, states[-1])


def test_gate_shut_is_a_convolution(cell, words):
    fix_gate(cell, SHUT)  # λ = 0
    plain = ConvolutionCell(3, 2, order=2).double()
    load(plain, filters=cell.filters.permute(1, 2, 0), bias=cell.bias)
    states, _ = run(cell, words)
    close(states[-1], [0.383801, 0.642355])
    torch.testing.assert_close(states, run(plain, words)[0], atol=1e-15, rtol=0)


def test_gate_of_one_half_is_a_decayed_sum(cell, words):
    fix_gate(cell, 0.0)  # λ = 1/2
    first, second = (words[0] @ filters.T for filters in cell.filters)  # (T, d)
    half = 0.5
    total = torch.zeros(2, dtype=torch.float64)
    for t in range(5):
        unigrams = sum(
            (half ** (t - 1 - i) * half * first[i] for i in range(t)), torch.zeros_like(total)
        )
        total = total + half ** (4 - t) * half * (unigrams + second[t])
    states, (_, c) = run(cell, words)
    close(states[-1], [0.212661, 0.485238])
    torch.testing.assert_close(c[1], total)


def test_gate_open_takes_nothing_in(cell, words):
    fix_gate(cell, OPEN)  # λ = 1
    states, _ = run(cell, words)
    torch.testing.assert_close(states, cell.bias.tanh().expand(5, 2))


def test_zeros_before_the_text_move_the_last_state(cell, words):
    led = torch.cat([torch.zeros(1, 4, 3, dtype=torch.float64), words], dim=1)
    shift = run(cell, led)[0][-1] - run(cell, words)[0][-1]
    close(shift, [-0.007746, -0.003038])


@pytest.mark.parametrize(
    ("name", "settings", "count"),
    [
        ("rcnn", {}, 400_800),
        ("lstm", {}, 423_360),
        ("gru", {}, 404_040),
        ("cnn", {}, 400_867),
        ("rcnn", {"gate": "scalar"}, 2 * 200 * 400 + 200 + 400 + 1 + 400),
        ("rcnn", {"gate": "constant"}, 2 * 200 * 400 + 400),
    ],
)
def test_parameter_counts(name, settings, count):
    words = EmbeddingInit(torch.zeros(3, 200), torch.ones(3), 1, torch.zeros(3, dtype=torch.bool))
    kind = MODELS[name]
    assert kind(kind.Config(**settings), words).trainable_parameters() == count


@pytest.mark.parametrize("name", ["rcnn", "lstm", "gru", "cnn"])
def test_the_same_question_has_cosine_one_and_a_copy_has_the_same_states(name):
    torch.manual_seed(0)
    words = EmbeddingInit(torch.randn(9, 6), torch.ones(9), 5, torch.zeros(9, dtype=torch.bool))
    kind = MODELS[name]
    model, copy = (kind(kind.Config(dim=4), words).eval() for _ in range(2))
    copy.load_state_dict(model.state_dict())
    batch = Batch(
        [
            TokenIds(np.array([2, 3]), np.array([4, 5, 6, 7])),
            TokenIds(np.array([8]), np.array([], int)),
        ]
    )
    torch.testing.assert_close(model(batch, batch), torch.ones(2))
    assert torch.equal(model.encode(batch), copy.encode(batch))
