"""The recurrence of CTRN and QRNN, its gradient, the alignments, and what the family shares."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from askonce.config import settings as read_settings
from askonce.errors import ConfigError
from askonce.models.base import EmbeddingInit
from askonce.models.ctrn import CTRN, aligned
from askonce.models.layers.quasi_recurrent import GatedMean
from askonce.models.qrnn import QRNN
from askonce.models.rivals.sentences.lstm_mlp import LstmMlp
from askonce.text.batch import Batch, TokenIds

FAMILY = [QRNN, CTRN, LstmMlp]
SMALL = {"projection": 6, "dim": 8, "hidden": 7}
ALIGNMENTS = ["proportional", "literal_clamp", "index", "soft"]


def vocabulary(size=30, dim=5, seed=0):
    vectors = torch.randn(size, dim, generator=torch.Generator().manual_seed(seed))
    stop = torch.zeros(size, dtype=torch.bool)
    return EmbeddingInit(
        vectors, torch.randint(1, 9, (size,)), 100, stop
    )  # row 0 is poison, not zero


def batch_of(*texts):
    empty = np.array([], dtype=np.int64)
    return Batch([TokenIds(np.array(text, dtype=np.int64), empty) for text in texts])


def some_batch(seed, count=6, longest=9):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest, count)
    return batch_of(*(rng.integers(2, 30, length) for length in lengths))


def scan(z, f):
    """All c_t by ⌈log₂ T⌉ doublings with the associative (f, b) ∘ (f', b') = (f'f, f'b + b')."""
    b, step = (1 - f) * z, 1
    while step < len(z):
        b = torch.cat([b[:step], f[step:] * b[:-step] + b[step:]])
        f = torch.cat([f[:step], f[step:] * f[:-step]])
        step *= 2
    return b


def scanned_mean(weight, z, *gates):
    hidden = torch.ones_like(z)
    for gate in gates:
        forget, output = gate.chunk(2, dim=-1)
        hidden = hidden * output * scan(z, forget)
    return (hidden * weight).sum(0)


def sequences(steps, streams, dtype=torch.float64):
    generator = torch.Generator().manual_seed(steps)
    rand = torch.rand(steps, 3, 1 + 2 + 4 * streams, generator=generator, dtype=dtype)
    weight, z, *gates = rand.split([1, 2, *[4] * streams], dim=-1)
    return weight, (z * 2 - 1).requires_grad_(), *[gate.requires_grad_() for gate in gates]


@pytest.mark.parametrize("streams", [1, 2])
@pytest.mark.parametrize("steps", [1, 2, 7, 40])
def test_loop_equals_scan_forwards_and_backwards(steps, streams):
    weight, *inputs = sequences(steps, streams)
    upstream = torch.randn(3, 2, dtype=torch.float64)
    loop, scanned = GatedMean.apply(weight, *inputs), scanned_mean(weight, *inputs)
    torch.testing.assert_close(loop, scanned, rtol=0, atol=1e-12)
    torch.testing.assert_close(
        torch.autograd.grad(loop, inputs, upstream),
        torch.autograd.grad(scanned, inputs, upstream),
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("streams", [1, 2])
def test_gradient_is_that_of_finite_differences(streams):
    weight, *inputs = sequences(5, streams)
    assert torch.autograd.gradcheck(lambda *x: GatedMean.apply(weight, *x), inputs)


def test_a_second_backward_pass_gives_the_same():
    weight, *inputs = sequences(4, 2)
    total = GatedMean.apply(weight, *inputs).sum()
    first = torch.autograd.grad(total, inputs, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(total, inputs), first, rtol=0, atol=0)


def dense_convolution(model, part, vectors):
    """The convolution word by word over all places, as torch computes it."""
    x = model.projection(vectors)  # (B, T, m)
    width, fan_out = model.config.width, part.taps.out_features // model.config.width
    kernel = part.taps.weight.view(width, fan_out, -1).permute(1, 2, 0)  # (out, in, tap)
    padded = torch.nn.functional.pad(x.transpose(1, 2), (width - 1, 0))
    return torch.nn.functional.conv1d(padded, kernel, part.bias).permute(2, 0, 1)  # (T, B, out)


@pytest.mark.parametrize("flags", [False, True])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_distinct_words_give_what_a_plain_convolution_gives(width, flags):
    config = CTRN.Config(**SMALL, width=width, flags=flags, train_words=True)
    model = CTRN(config, vocabulary())
    torch.nn.init.normal_(model.recurrent.gates.bias)
    batch = batch_of([3, 4, 3, 3], [3], [], [29, -5, -6, 1, 7, 3])  # repeated, empty, unknown
    vectors = model.words(batch.text)
    if flags:
        flag = torch.randint(0, 2, (*vectors.shape[:2], 1)).float()
        vectors = torch.cat([vectors, flag], dim=-1)
    z, gates = model.gates(batch.text, vectors)
    plain_z = dense_convolution(model, model.recurrent.values, vectors).tanh()
    plain_gates = dense_convolution(model, model.recurrent.gates, vectors).sigmoid()
    torch.testing.assert_close(z, plain_z)
    torch.testing.assert_close(gates, plain_gates)
    learned = [*model.recurrent.parameters(), *model.projection.parameters(), model.words.weight]
    torch.testing.assert_close(
        torch.autograd.grad(z.pow(2).sum() + gates.pow(3).sum(), learned, retain_graph=True),
        torch.autograd.grad(plain_z.pow(2).sum() + plain_gates.pow(3).sum(), learned),
        rtol=1e-4,
        atol=1e-5,
    )


lengths = st.integers(1, 60)


@given(lengths, lengths, st.sampled_from(ALIGNMENTS[:3]))
def test_every_word_finds_a_place_within_its_partner_and_never_goes_back(own, partner, alignment):
    actual = aligned(torch.tensor([own]), torch.tensor([partner]), own + 2, alignment)[:, 0]
    assert actual.min() >= 0 and actual.max() < partner
    assert (actual.diff() >= 0).all()
    if alignment == "proportional":
        assert actual[own - 1] == partner - 1  # last meets last


@given(lengths, st.integers(1, 5))
def test_proportional_is_the_printed_formula_where_that_stays_inside(own, ratio):
    printed = torch.arange(1, own + 1) * ratio - 1
    actual = aligned(torch.tensor([own]), torch.tensor([own * ratio]), own, "proportional")
    assert actual[:, 0].tolist() == printed.tolist()


@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_swapping_the_sides_swaps_the_vectors(alignment):
    model = CTRN(CTRN.Config(**SMALL, alignment=alignment), vocabulary())
    one, two = model.read(some_batch(1), "query"), model.read(some_batch(2), "candidate")
    other = model.read(some_batch(2), "query"), model.read(some_batch(1), "candidate")
    torch.testing.assert_close(model.composed(one, two), model.composed(other[1], other[0]))
    assert not torch.allclose(model.composed(one, two), model.composed(two, one))


def test_soft_alignment_by_hand():
    model = CTRN(CTRN.Config(**SMALL, alignment="soft"), vocabulary())
    own, partner = model.read(batch_of([2, 3]), "query"), model.read(batch_of([4, 5, 6]), "query")
    z, values, gates = own["values"], partner["values"], partner["gates"]
    weights = torch.stack([(z[0, 1] * value).sum() for value in values[0]]).softmax(0)
    wanted = sum(w * g for w, g in zip(weights, gates[0], strict=True))
    torch.testing.assert_close(model.partner_gates(own, partner)[1, 0], wanted)


@pytest.mark.parametrize("kind", FAMILY)
@pytest.mark.parametrize("extras", [{}, {"flags": True, "overlap": True}])
def test_padding_and_company_change_nothing(kind, extras):
    for alignment in ALIGNMENTS if kind is CTRN else [None]:
        choice = {"alignment": alignment} if alignment else {}
        model = kind(kind.Config(**SMALL, **extras, **choice), vocabulary()).eval()
        texts = [[3, 4, 3], [], [5], [-7, -8], list(range(2, 25))]
        partners = [[9], [3, 4], [5, 5, 6, 7], [-7], []]
        together = model(batch_of(*texts), batch_of(*partners))
        pairs = zip(texts, partners, strict=True)
        alone = torch.cat([model(batch_of(t), batch_of(p)) for t, p in pairs])
        torch.testing.assert_close(together, alone)
        assert together.shape == (5,)


@pytest.mark.parametrize("kind", FAMILY)
def test_kept_states_rank_as_pairs_do(kind):
    model = kind(kind.Config(**SMALL), vocabulary()).eval()
    query, candidates = model.read(batch_of([2, 3, 4]), "query"), some_batch(3)
    separate = model.match(
        query.select(torch.zeros(6, dtype=torch.long)), model.read(candidates, "candidate")
    )
    torch.testing.assert_close(separate, model(batch_of(*[[2, 3, 4]] * 6), candidates))


@pytest.mark.parametrize("kind", FAMILY)
def test_twenty_pairs_can_be_learnt(kind):
    torch.manual_seed(0)
    model = kind(kind.Config(**SMALL | {"dim": 32}, layers=2, dropout=0.0), vocabulary())
    query, candidate = some_batch(4, 20), some_batch(5, 20)
    labels = torch.arange(20).remainder(2).float()
    optimiser = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), 0.01)
    for _ in range(60):
        score = model(query, candidate)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(score, labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None and parameter.grad.isfinite().all(), name
            assert parameter.grad.abs().max() > 0, name
    assert ((score > 0) == labels.bool()).all()


@pytest.mark.parametrize("kind", FAMILY)
def test_a_very_long_text_is_read(kind):
    model = kind(kind.Config(**SMALL), vocabulary()).eval()
    long = np.random.default_rng(0).integers(1, 30, 5000)
    with torch.no_grad():
        assert model(batch_of(long), batch_of([3])).isfinite().all()


def test_inspection_gives_the_gates_of_both_sides():
    model = CTRN(CTRN.Config(**SMALL), vocabulary())
    query, candidate = some_batch(1), some_batch(2)
    weights = {(w.side, w.kind): w.values for w in model.inspect(query, candidate)}
    assert len(weights) == 8
    gates = model.read(query, "query")["gates"]
    own = weights["query", "own forget gate"]
    torch.testing.assert_close(own, gates[..., :8].mean(-1))
    torch.testing.assert_close(weights["query", "own output gate"], gates[..., 8:].mean(-1))
    lent = weights["candidate", "partner's forget gate"]  # by the query
    assert lent.shape == candidate.text.codes.shape
    for row, length in enumerate(query.text.lengths):
        assert torch.isclose(lent[row, candidate.text.lengths[row] - 1], own[row, length - 1])


@pytest.mark.parametrize("flags", [False, True])
def test_inspection_of_qrnn_is_that_of_ctrn_without_the_partner(flags):
    query, candidate = some_batch(1), some_batch(2)
    ctrn = CTRN(CTRN.Config(**SMALL, flags=flags), vocabulary())
    qrnn = QRNN(QRNN.Config(**SMALL, flags=flags), vocabulary())
    qrnn.load_state_dict(ctrn.state_dict())  # the same parameters, by name and shape
    own = [w for w in ctrn.inspect(query, candidate) if w.kind.startswith("own")]
    for one, other in zip(own, qrnn.inspect(query, candidate), strict=True):
        assert (one.kind, one.side) == (other.kind, other.side)
        torch.testing.assert_close(one.values, other.values)


def test_overlap_joins_the_dense_layers():
    with_overlap = CTRN(CTRN.Config(**SMALL, overlap=True), vocabulary())
    without = CTRN(CTRN.Config(**SMALL), vocabulary())
    assert with_overlap.trainable_parameters() == without.trainable_parameters() + 4 * 7


def test_settings_are_checked():
    assert read_settings(CTRN.Config, {"layers": 3, "alignment": "soft"}).layers == 3
    for wrong in ({"layers": 4}, {"alignment": "hard"}):
        with pytest.raises(ConfigError):
            read_settings(CTRN.Config, wrong)
