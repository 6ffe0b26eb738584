"""The QA-LSTM and QA-CNN families, and the layers they are made of."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from askonce.errors import AskonceError
from askonce.models.attentive_lstm import AttentiveLstm
from askonce.models.base import EmbeddingInit
from askonce.models.layers.convolution import WindowConvolution
from askonce.models.layers.functional import masked_max
from askonce.models.layers.recurrent import BiLSTM
from askonce.models.qa_cnn import AttentiveCnn, QaCnn
from askonce.models.qa_lstm import ConvBasedLstm, ConvPoolingLstm, QaLstm
from askonce.text.batch import Batch, TokenIds

LENGTHS = torch.tensor([4, 1, 6, 3])


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(7)


@pytest.fixture
def words() -> EmbeddingInit:
    vectors = torch.randn(30, 5, generator=torch.Generator().manual_seed(1))
    return EmbeddingInit(vectors, torch.ones(30, dtype=torch.long), 10, torch.zeros(30).bool())


def texts(*rows: list[int]) -> Batch:
    none = np.array([], dtype=np.int64)
    return Batch([TokenIds(none, np.array(row, dtype=np.int64)) for row in rows])


QUERIES = texts([3, 4, 5], [6], [7, 8, 9, 10, 11])
ANSWERS = texts([12, 13, 14, 3, 4, 16, 17], [18, 19], [20, 21, 22, 23])


def vectors_of(lengths: torch.Tensor, dim: int, *, clean: bool) -> torch.Tensor:
    vectors = torch.randn(len(lengths), int(lengths.max()), dim)
    return vectors * mask_of(lengths).unsqueeze(-1) if clean else vectors


def mask_of(lengths: torch.Tensor) -> torch.Tensor:
    return torch.arange(int(lengths.max())) < lengths[:, None]


def lstm_by_equations(lstm: nn.LSTM, text: np.ndarray) -> np.ndarray:
    """Eqs. 1-6, one word after the other; torch keeps the gates in the order i, f, C, o."""
    w, u, b = (
        getattr(lstm, f"{n}_l0").detach().numpy() for n in ("weight_ih", "weight_hh", "bias_ih")
    )
    state, cell, states = np.zeros(u.shape[1]), np.zeros(u.shape[1]), []
    for word in text:
        i, f, c, o = np.split(w @ word + u @ state + b, 4)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        cell = i * np.tanh(c) + f * cell
        state = o * np.tanh(cell)
        states.append(state)
    return np.array(states)


def test_bilstm_follows_the_equations_and_is_zero_on_padding():
    layer = BiLSTM(3, 4)
    vectors = vectors_of(LENGTHS, 3, clean=False)  # what stands on padding does not count
    states = layer(vectors, LENGTHS).detach()
    for row, length in enumerate(LENGTHS.tolist()):
        text = vectors[row, :length].numpy()
        forwards = lstm_by_equations(layer.forwards, text)
        backwards = lstm_by_equations(layer.backwards, text[::-1])[::-1]
        expected = np.concatenate([forwards, backwards], axis=1)
        np.testing.assert_allclose(states[row, :length], expected, atol=1e-6)
        assert (states[row, length:] == 0).all()


def test_bilstm_equals_packed_sequences():
    layer, packed = BiLSTM(7, 9), nn.LSTM(7, 9, batch_first=True, bidirectional=True)
    weights = {f"{k}": v for k, v in layer.forwards.state_dict().items()}
    weights |= {f"{k}_reverse": v for k, v in layer.backwards.state_dict().items()}
    packed.load_state_dict(weights)
    ours = vectors_of(LENGTHS, 7, clean=True).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    packing = pack_padded_sequence(theirs, LENGTHS, batch_first=True, enforce_sorted=False)
    expected = pad_packed_sequence(packed(packing)[0], batch_first=True)[0]
    states = layer(ours, LENGTHS)
    torch.testing.assert_close(states, expected, atol=1e-6, rtol=1e-5)
    states.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-6, rtol=1e-5)


def test_bilstm_gradient():
    layer = BiLSTM(2, 2).double()
    vectors = vectors_of(LENGTHS, 2, clean=True).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: layer(x, LENGTHS), (vectors,))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("padding", ["wide", "same"])
def test_window_convolution_equals_conv1d(padding, width, bias):
    layer = WindowConvolution(3, 4, width, padding, bias)
    reference = nn.Conv1d(3, 4, width, padding=width - 1, bias=bias)
    with torch.no_grad():
        taps = layer.filters.weight.view(4, width, 3).transpose(1, 2)
        reference.weight.copy_(taps)
        if bias:
            reference.bias.copy_(layer.filters.bias)
    vectors = torch.randn(2, 6, 3)
    expected = reference(vectors.transpose(1, 2)).transpose(1, 2)  # (2, 6 + width - 1, 4)
    if padding == "same":
        expected = expected[:, width // 2 :][:, :6]  # an even window has its extra word behind
    torch.testing.assert_close(layer(vectors), expected, atol=1e-6, rtol=1e-5)


@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=5),
    width=st.integers(1, 5),
    padding=st.sampled_from(["wide", "same"]),
)
def test_greatest_value_of_a_text_does_not_depend_on_its_padding(lengths, width, padding):
    layer = WindowConvolution(2, 3, width, padding, bias=True)
    lengths = torch.tensor(lengths)
    vectors = vectors_of(lengths, 2, clean=True)
    together = layer.max_pool(vectors, mask_of(lengths))
    assert layer.window_mask(mask_of(lengths)).shape == layer(vectors).shape[:2]
    for row, length in enumerate(lengths.tolist()):
        alone = layer(vectors[row : row + 1, :length]).amax(1)[0]
        torch.testing.assert_close(together[row], alone, atol=1e-6, rtol=1e-5)


def test_tanh_of_the_greatest_is_the_greatest_tanh_and_so_is_its_gradient():
    layer = WindowConvolution(2, 3, 3, "same", bias=True)
    mask = mask_of(LENGTHS)
    first = vectors_of(LENGTHS, 2, clean=True).requires_grad_()
    second = first.detach().clone().requires_grad_()
    pooled, expected = layer.max_pool(first, mask).tanh(), masked_max(layer(second).tanh(), mask)
    torch.testing.assert_close(pooled, expected)
    pooled.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(first.grad, second.grad)


@pytest.mark.parametrize("pooling", ["max", "mean", "head_tail"])
def test_pooling_of_qa_lstm(pooling, words):
    model = QaLstm(QaLstm.Config(hidden=4, pooling=pooling), words).eval()
    view = ANSWERS.text
    states = model.lstm(model.words(view), view.lengths)
    for vector, row, length in zip(
        model.encode(ANSWERS), states, view.lengths.tolist(), strict=True
    ):
        expected = {
            "max": row[:length].amax(0),
            "mean": row[:length].mean(0),
            "head_tail": torch.cat([row[length - 1, :4], row[0, 4:]]),
        }
        torch.testing.assert_close(vector, expected[pooling])


def test_conv_based_lstm_reads_filters_of_the_words(words):
    model = ConvBasedLstm(ConvBasedLstm.Config(filters=6, hidden=4), words).eval()
    text = torch.nn.functional.pad(words.vectors[[12, 13, 14, 3, 4, 16, 17]], (0, 0, 1, 1))
    windows = torch.stack([text[t : t + 3].flatten() for t in range(7)])
    filtered = (windows @ model.convolution.filters.weight.T).tanh()
    expected = model.lstm(filtered[None], torch.tensor([7])).amax(1)[0]
    torch.testing.assert_close(model.encode(ANSWERS)[0], expected)


@pytest.mark.parametrize("model", [QaLstm, ConvPoolingLstm, ConvBasedLstm, QaCnn])
def test_gesd_scores_but_has_no_keys(model, words):
    gesd = model(model.Config(similarity="gesd"), words).eval()
    scores = gesd(QUERIES, ANSWERS)
    assert ((scores > 0) & (scores < 1)).all()
    for key in (gesd.query_key, gesd.candidate_key):
        with pytest.raises(AskonceError, match="'gesd' is not ordered by an inner product"):
            key(gesd.encode(QUERIES))


@pytest.mark.parametrize("model", [AttentiveLstm, AttentiveCnn])
@pytest.mark.parametrize("features", [False, True])
def test_attention_depends_on_the_question_and_skips_padding(model, features, words):
    attentive = model(model.Config(overlap=features, flags=features), words).eval()
    for weight in attentive.attention.parameters():
        nn.init.normal_(weight)  # far from the flat attention of a new model
    (weights,) = attentive.inspect(QUERIES, ANSWERS)
    assert (weights.kind, weights.side, weights.view) == ("attention", "candidate", "text")
    torch.testing.assert_close(weights.values.sum(1), torch.ones(3))
    assert (weights.values[~ANSWERS.text.mask] == 0).all()
    (others,) = attentive.inspect(texts([20, 21], [22], [23]), ANSWERS)
    assert not torch.allclose(weights.values[0], others.values[0], atol=1e-3)


def test_a_candidate_is_read_once_for_all_questions(words):
    model = AttentiveLstm(AttentiveLstm.Config(hidden=4, overlap=True), words).eval()
    states = model.read(ANSWERS, "candidate")
    query = model.read(texts([3, 4, 16]), "query")
    scores = model.match(query.select(torch.zeros(3, dtype=torch.long)), states)
    expected = model(texts([3, 4, 16], [3, 4, 16], [3, 4, 16]), ANSWERS)
    torch.testing.assert_close(scores, expected)


def test_overlap_features_join_the_score(words):
    model = AttentiveCnn(AttentiveCnn.Config(filters=4, overlap=True), words).eval()
    nn.init.zeros_(model.lift.linear.weight)
    before = model(QUERIES, ANSWERS)
    nn.init.ones_(model.lift.linear.weight)
    shared = (model(QUERIES, ANSWERS) - before) > 1e-3
    assert shared.tolist() == [True, False, False]  # 3 and 4 are in both texts of the first pair


def test_words_are_trained_unless_told_otherwise(words):
    for model in (QaLstm, ConvPoolingLstm, ConvBasedLstm, QaCnn, AttentiveLstm, AttentiveCnn):
        assert model(model.Config(), words).words.weight.requires_grad
        assert not model(model.Config(train_words=False), words).words.weight.requires_grad


def test_dropout_is_for_training_only(words):
    model = QaCnn(QaCnn.Config(dropout=0.5), words)
    dropped = (model.train().encode(ANSWERS) == 0).float().mean()
    assert 0.3 < dropped < 0.7
    assert (model.eval().encode(ANSWERS) != 0).all()
