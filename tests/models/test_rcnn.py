"""Cells and question encoders: gradients, masks, states that go on, fields, word weights."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from askonce.config import settings as read_settings
from askonce.errors import ConfigError
from askonce.models import MODELS
from askonce.models.base import Words
from askonce.models.cells import ConvolutionCell, GRUCell, LSTMCell
from askonce.models.decayed_convolution import DecayedConvolution
from askonce.models.gated_convolution import GatedConvolution
from askonce.models.question_encoders import known_words, smooth_idf
from askonce.text.batch import Batch, Numbers, View

NAMES = ["rcnn", "lstm", "gru", "cnn"]
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


def numbers(title=(), body=()):
    return Numbers(np.array(title, dtype=np.int64), np.array(body, dtype=np.int64))


@pytest.fixture
def words():
    torch.manual_seed(1)
    stop = torch.zeros(30, dtype=torch.bool)
    return Words(torch.randn(30, 6), torch.arange(30) % 7, 20, stop)


def make(name, words, **values):
    torch.manual_seed(2)
    kind = MODELS[name]
    model = kind(read_settings(kind.Config, {"dim": 5, **values}), words)
    for parameter in model.layers.parameters():
        nn.init.uniform_(parameter, -1, 1)
    return model.eval()


# --- cells ---


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
@settings(max_examples=20, deadline=None)
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
            total += decay**skipped * sum(products[i][place] for i, place in enumerate(gram))
        torch.testing.assert_close(state, (total + cell.bias).tanh())


@pytest.mark.parametrize("name", CELLS)
def test_weights_and_biases_start_in_a_narrow_band(name):
    values = torch.cat([p.detach().flatten() for p in CELLS[name]().parameters()])
    assert values.abs().max() <= 0.05
    assert values.unique().numel() > 0.9 * values.numel()


# --- what is around the layers ---


def test_known_words_close_ranks():
    view = View.of([np.array([5, -9, 6, 1, 7]), np.array([-3]), np.array([], int), np.array([8])])
    known, keep = known_words(view, limit=2)
    assert known.codes.tolist() == [[5, 6], [0, 0], [0, 0], [8, 0]]
    assert known.lengths.tolist() == [2, 1, 1, 1]
    assert keep.tolist()[0] == [True, False, True, False, False]
    assert not keep[1:3].any()


def test_idf_is_sklearns():
    texts = ["a b c", "a b", "a d d", "a"]
    from sklearn.feature_extraction.text import TfidfVectorizer

    theirs = TfidfVectorizer(token_pattern=r"\w").fit(texts)
    counts = torch.tensor([0, 0, 4, 2, 1, 1, 0])  # padding, unknown, a b c d, a word without texts
    idf = smooth_idf(Words(torch.zeros(7, 1), counts, 4, torch.zeros(7, dtype=torch.bool)))
    np.testing.assert_allclose(idf[2:6], theirs.idf_)
    np.testing.assert_allclose(idf[6], theirs.idf_.mean() / 4)


def test_idf_without_counts_weighs_all_alike():
    idf = smooth_idf(Words(torch.zeros(4, 1), torch.zeros(4), 0, torch.zeros(4, dtype=torch.bool)))
    assert idf.tolist() == [1.0] * 4


@pytest.mark.parametrize("name", NAMES)
def test_unknown_words_are_left_out(name, words):
    model = make(name, words)
    clean = Batch([numbers([5, 6], [7, 8, 9])])
    noisy = Batch([numbers([-4, 5, 6, -5], [7, -1, -2, 8, 9])])
    torch.testing.assert_close(model.encode(clean), model.encode(noisy))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pooling", ["last", "mean", "max"])
def test_both_fields_are_averaged_and_an_absent_one_does_not_count(name, pooling, words):
    both, title, body = (
        make(name, words, pooling=pooling, fields=fields) for fields in ("both", "title", "body")
    )
    full = Batch([numbers([5, 6], [7, 8, 9])])
    torch.testing.assert_close(both.encode(full), (title.encode(full) + body.encode(full)) / 2)
    for absent in ([], [-7]):
        torch.testing.assert_close(
            both.encode(Batch([numbers(absent, [7, 8, 9])])), body.encode(full)
        )
        torch.testing.assert_close(
            both.encode(Batch([numbers([5, 6], absent)])), title.encode(full)
        )
    assert both.encode(Batch([numbers([], [-7])])).isfinite().all()


def test_states_are_normalised_before_pooling(words):
    batch = Batch([numbers([5, 6, 7])])
    view = batch.title
    for name in NAMES:
        normal = make(name, words, pooling="mean", fields="title")
        states = nn.functional.normalize(normal.states(view)[0], dim=-1)
        torch.testing.assert_close(normal.encode(batch), states.mean(1))
        raw = make(name, words, pooling="mean", fields="title", normalise=False)
        torch.testing.assert_close(raw.encode(batch), raw.states(view)[0].mean(1))


def test_a_body_is_cut(words):
    long, short = Batch([numbers([5], [7, -1, 8, 9])]), Batch([numbers([5], [7, 8])])
    cut, whole = make("rcnn", words, body_words=2), make("rcnn", words, body_words=0)
    torch.testing.assert_close(cut.encode(long), cut.encode(short))
    assert not torch.allclose(whole.encode(long), whole.encode(short))


def test_idf_scales_the_word_vectors(words):
    view = View.of([np.array([5, 7])])  # df 5 and 0
    on, off = make("rcnn", words), make("rcnn", words, idf=False)
    ratio = on.inputs(view) / off.inputs(view)
    torch.testing.assert_close(ratio[0, :, 0], smooth_idf(words)[[5, 7]].float())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("values", [{}, {"depth": 2, "pooling": "mean"}, {"pooling": "max"}])
def test_awkward_posts(name, values, words):
    with torch.no_grad():
        words.vectors[0] = 1e3
    model = make(name, words, **values)
    long = np.random.default_rng(0).integers(2, 30, 90)
    posts = [
        numbers(),
        numbers([5]),
        numbers([-5], [-6]),
        numbers([5, 6], long),
        numbers([], [9, 9]),
    ]
    together = model.encode(Batch(posts))
    alone = torch.cat([model.encode(Batch([post])) for post in posts])
    torch.testing.assert_close(together, alone)
    model.train()(Batch(posts), Batch(posts[::-1])).sum().backward()
    for parameter_name, parameter in model.layers.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name


@pytest.mark.parametrize("name", NAMES)
def test_five_thousand_words(name, words):
    model = make(name, words, body_words=0)
    batch = Batch([numbers([5], np.random.default_rng(0).integers(2, 30, 5000)), numbers([6])])
    with torch.inference_mode():
        vectors = model.encode(batch)
        torch.testing.assert_close(vectors[1:], model.encode(Batch(batch.posts[1:])))
    assert vectors.isfinite().all()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *((name, {}) for name in NAMES),
        ("rcnn", {"gate": "scalar", "order": 3}),
        ("rcnn", {"gate": "constant", "pooling": "mean"}),
        ("gru", {"depth": 2}),
    ],
)
def test_learns_twenty_pairs(name, values, words):
    model = make(name, words, dim=16, dropout=0.0, **values).train()
    generator = np.random.default_rng(0)
    queries, answers = (
        Batch(
            [numbers(generator.integers(2, 30, 4), generator.integers(2, 30, 6)) for _ in range(20)]
        )
        for _ in range(2)
    )
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(150):
        scores = model.similarity(model.encode(queries)[:, None], model.encode(answers))
        loss = nn.functional.cross_entropy(20 * scores, torch.arange(20))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if (scores.argmax(1) == torch.arange(20)).all():
            break
    else:
        pytest.fail("some queries still prefer another answer")


# --- looking inside ---


def test_inspect_gives_the_share_of_each_word(words):
    model = make("rcnn", words)
    query = Batch([numbers([5, -3, 6], [7]), numbers([8])])
    weights = model.inspect(query, query)
    assert [(w.side, w.view) for w in weights] == [
        *((side, view) for side in ("query", "candidate") for view in ("title", "body"))
    ]
    title = weights[0].values
    assert title.shape == query.title.codes.shape
    assert title.bool().tolist() == [[True, False, True], [True, False, False]]
    cell = model.layers[0]
    x = model.inputs(View.of([np.array([5])]))[0, 0]
    share = 1 - (cell.gate_input @ x + cell.gate_bias).sigmoid().mean()
    torch.testing.assert_close(title[0, 0], share)
    assert weights[1].values.tolist()[1] == [0.0]


def test_inspect_of_a_scalar_gate_and_of_none(words):
    batch = Batch([numbers([5, 6, 7])])
    scalar = make("rcnn", words, gate="scalar", fields="title")
    torch.nn.init.zeros_(scalar.layers[0].gate_input)
    torch.nn.init.zeros_(scalar.layers[0].gate_recurrent)
    torch.nn.init.constant_(scalar.layers[0].gate_bias, np.log(3))  # λ = 3/4
    (query, _) = scalar.inspect(batch, batch)
    torch.testing.assert_close(query.values, torch.full((1, 3), 0.25))
    assert make("rcnn", words, gate="constant").inspect(batch, batch) == ()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("rcnn", {"order": 1}),
        ("rcnn", {"decay": 1.0}),
        ("rcnn", {"gate": "matrix"}),
        ("cnn", {"order": 0}),
        ("lstm", {"depth": 0}),
        ("gru", {"dropout": 1.0}),
        ("rcnn", {"body_words": -1}),
    ],
)
def test_impossible_settings(name, values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        read_settings(MODELS[name].Config, values)
