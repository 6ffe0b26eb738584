"""Cells of recurrent encoders: gradients, masks, states that go on."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from askonce.models.layers.cells import ConvolutionCell, DecayedConvolution, GRUCell, LSTMCell
from askonce.models.layers.gated_convolution import GatedConvolution

CELLS = {
    "gated": lambda: GatedConvolution(3, 4, order=2),
    "gated, n=3": lambda: GatedConvolution(3, 4, order=3),
    "scalar": lambda: GatedConvolution(3, 4, order=2, scalar=True),
    "decayed": lambda: DecayedConvolution(3, 4, order=3, decay=0.7),
    "lstm": lambda: LSTMCell(3, 4),
    "gru": lambda: GRUCell(3, 4),
    "cnn": lambda: ConvolutionCell(3, 4, order=3),
}


def make_cell(name):
    """A cell in double precision whose weights are large enough to matter."""
    torch.manual_seed(0)
    cell = CELLS[name]().double()
    for parameter in cell.parameters():
        nn.init.uniform_(parameter, -1, 1)
    return cell


def make_mask(lengths, time=None):
    return torch.arange(time or max(lengths)) < torch.tensor(lengths)[:, None]


def random_words(rows, time):
    return torch.randn(rows, time, 3, dtype=torch.float64)


def plain_gated(cell, vectors, mask, h, c):
    """The equations as printed, step by step; a text that ended keeps its state."""
    states = []
    for x, real in zip(vectors.unbind(1), mask.unbind(1), strict=True):
        gate = x @ cell.gate_input.T + h @ cell.gate_recurrent.T + cell.gate_bias
        lam = gate.sigmoid()
        below = [torch.zeros_like(h), *c.unbind(1)]
        new = [
            lam * below[i + 1] + (1 - lam) * (below[i] + x @ cell.filters[i].T)
            for i in range(cell.order)
        ]
        c = torch.where(real[:, None, None], torch.stack(new, 1), c)
        h = torch.where(real[:, None], (c[:, -1] + cell.bias).tanh(), h)
        states.append(h)
    return torch.stack(states, 1), h, c


@pytest.mark.parametrize("name", ["gated", "gated, n=3", "scalar"])
def test_gated_convolution_is_the_plain_loop(name):
    cell = make_cell(name)
    mask = make_mask([2, 5, 1, 5, 3], time=6)
    inputs = [
        random_words(5, 6).requires_grad_(),
        torch.randn(5, 4, dtype=torch.float64, requires_grad=True),
        torch.randn(5, cell.order, 4, dtype=torch.float64, requires_grad=True),
    ]
    states, (h, c) = cell(inputs[0], mask, (inputs[1], inputs[2]))
    expected = plain_gated(cell, inputs[0], mask, inputs[1], inputs[2])
    results = (states * mask[..., None], h, c), (expected[0] * mask[..., None], *expected[1:])
    weights = [torch.randn_like(part) for part in results[0]]
    gradients = []
    for parts in results:
        total = sum((part * weight).sum() for part, weight in zip(parts, weights, strict=True))
        gradients.append(torch.autograd.grad(total, [*inputs, *cell.parameters()]))
    torch.testing.assert_close(results[0], results[1])
    torch.testing.assert_close(gradients[0], gradients[1])


@pytest.mark.parametrize("name", CELLS)
def test_gradients(name):
    cell, mask = make_cell(name), make_mask([1, 3, 2])
    _, final = cell(random_words(3, 3), mask)
    initial = [torch.randn_like(part, requires_grad=True) for part in final]
    vectors = random_words(3, 3).requires_grad_()

    def run(vectors, *initial):
        states, final = cell(vectors, mask, initial)
        return (states * mask[..., None], *final)

    assert torch.autograd.gradcheck(run, (vectors, *initial))


@pytest.mark.parametrize("name", CELLS)
@given(data=st.data())
@settings(max_examples=20)
def test_a_text_read_in_two_parts_is_the_text_read_at_once(name, data):
    cell = make_cell(name)
    first = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    second = data.draw(st.lists(st.integers(1, 4), min_size=len(first), max_size=len(first)))
    texts = [random_words(1, a + b)[0] for a, b in zip(first, second, strict=True)]
    pad = nn.utils.rnn.pad_sequence
    heads = pad([text[:a] for text, a in zip(texts, first, strict=True)], batch_first=True)
    tails = pad([text[a:] for text, a in zip(texts, first, strict=True)], batch_first=True)
    _, middle = cell(heads, make_mask(first))
    states, final = cell(tails, make_mask(second), middle)
    for row, text in enumerate(texts):
        whole, end = cell(text[None], make_mask([len(text)]))
        torch.testing.assert_close(states[row, : second[row]], whole[0, first[row] :])
        for part, expected in zip(final, end, strict=True):
            torch.testing.assert_close(part[row], expected[0])


@pytest.mark.parametrize("name", CELLS)
def test_what_stands_on_padding_changes_nothing(name):
    cell, mask = make_cell(name), make_mask([4, 1, 2], time=7)
    vectors = random_words(3, 7)
    poisoned = torch.where(mask[..., None], vectors, 1e3)
    (states, final), (others, other_final) = cell(vectors, mask), cell(poisoned, mask)
    assert torch.equal(states[mask], others[mask])
    assert all(torch.equal(a, b) for a, b in zip(final, other_final, strict=True))


@pytest.mark.parametrize("name", CELLS)
def test_words_looked_up_are_words_read(name):
    cell, mask = make_cell(name), make_mask([4, 1, 6])
    table, rows = random_words(1, 3)[0], torch.randint(3, (3, 6))
    with torch.no_grad():
        states, final = cell.look_up(table, rows, mask)
        expected, expected_final = cell(table[rows], mask)
    torch.testing.assert_close(states[mask], expected[mask])
    torch.testing.assert_close(final, expected_final)


def test_lstm_is_torchs():
    cell, theirs = make_cell("lstm"), nn.LSTM(3, 4, batch_first=True).double()
    theirs.load_state_dict(
        {
            "weight_ih_l0": cell.input,
            "weight_hh_l0": cell.recurrent,
            "bias_ih_l0": cell.bias,
            "bias_hh_l0": torch.zeros(16),
        }
    )
    vectors = random_words(2, 5)
    states, final = cell(vectors, make_mask([5, 5]))
    expected, (h, c) = theirs(vectors)
    torch.testing.assert_close(states, expected)
    torch.testing.assert_close(final, (h[0], c[0]))


def test_gru_by_hand():
    cell, x = make_cell("gru"), random_words(1, 2)
    h = torch.zeros(4, dtype=torch.float64)
    (wi, wr, w), (bi, br, b), (ui, ur) = (
        cell.input.chunk(3),
        cell.bias.chunk(3),
        cell.gates.chunk(2),
    )
    for word in x[0]:
        i, r = (wi @ word + ui @ h + bi).sigmoid(), (wr @ word + ur @ h + br).sigmoid()
        h = i * (w @ word + cell.recurrent @ (r * h) + b).tanh() + (1 - i) * h
    torch.testing.assert_close(cell(x, make_mask([2]))[1][0][0], h)


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("decay", [0.0, 0.6])
def test_decayed_convolution_sums_all_n_grams(order, decay):
    torch.manual_seed(0)
    cell, x = DecayedConvolution(3, 2, order, decay).double(), random_words(1, 6)
    products = [x[0] @ filters.T for filters in cell.filters]
    for t, state in enumerate(cell(x, make_mask([6]))[0][0]):
        total = torch.zeros(2, dtype=torch.float64)
        for earlier in itertools.combinations(range(t), order - 1):
            gram = (*earlier, t)
            skipped = t - earlier[0] - (order - 1)
            total += decay**skipped * sum(products[i][index] for i, index in enumerate(gram))
        torch.testing.assert_close(state, (total + cell.bias).tanh())


@pytest.mark.parametrize("name", CELLS)
def test_weights_and_biases_start_in_a_narrow_band(name):
    values = torch.cat([p.detach().flatten() for p in CELLS[name]().parameters()])
    assert values.abs().max() <= 0.05
    assert values.unique().numel() > 0.9 * values.numel()
