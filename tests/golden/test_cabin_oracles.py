"""CABIN's equations against numbers worked out apart from this code."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from askonce.models.base import EmbeddingInit, States
from askonce.models.cabin import Cabin, InteractiveAttention, context_jump
from askonce.text.batch import View

H, D = 2, 4


def wave(shape: tuple[int, ...], phase: float) -> Tensor:
    return 0.5 * torch.sin(phase + 0.7 * torch.arange(math.prod(shape)).double()).reshape(shape)


def words(count: int = 6, dim: int = 3) -> EmbeddingInit:
    zeros = torch.zeros(count, dtype=torch.long)
    return EmbeddingInit(torch.randn(count, dim), zeros, 1, zeros.bool())


def view(length: int) -> View:
    return View(torch.full((1, length), 2), torch.tensor([length]))


@pytest.fixture
def cabin() -> Cabin:
    model = Cabin(Cabin.Config(hidden=H, similarity=3), words()).double()
    reader = model.candidate_reader
    with torch.no_grad():
        for name, phase in zip(("u", "v", "g", "q1", "q2"), (0.1, 0.2, 0.3, 0.4, 0.5), strict=True):
            getattr(reader.attention, name).copy_(wave((D,), phase))
        reader.fuse.weight.copy_(wave((D, D), 0.6))
        reader.fuse.bias.copy_(wave((D,), 0.7))
    return model


@pytest.fixture
def sides(cabin: Cabin) -> tuple[States, States]:
    """The answer's states, and of the question its last state, as the oracle has it."""
    answer, question = wave((1, 4, D), 0.3), wave((1, 3, D), 0.8)
    keys = cabin.candidate_reader.attention.keys(answer)
    return (
        States(view(4), {"hidden": answer, "keys": keys}, {"sentence": answer[:, -1]}),
        States(view(3), {"hidden": question}, {"sentence": question[:, -1]}),
    )


def close(actual: Tensor, expected: object) -> None:
    np.testing.assert_allclose(actual.detach().numpy(), expected, atol=1e-6, rtol=0)


def test_jump_of_the_answer():
    close(
        context_jump(wave((1, 4, D), 0.3))[0],
        [
            [-0.072220, -0.185850, 0, 0],
            [0.008840, -0.151337, -0.072220, -0.185850],
            [0.058425, -0.076401, 0.008840, -0.151337],
            [0, 0, 0.058425, -0.076401],
        ],
    )


def test_weights_of_the_answer_words(cabin, sides):
    attention, similarity = cabin.candidate_reader.weights(*sides)
    close(attention[0], [0.338511, 0.136846, 0.328960, 0.195682])
    close(similarity[0], [0.247407, 0.239836, 0.251739, 0.261018])


def test_fused_vector_and_mean_of_equation_19(cabin, sides):
    reader, (own, partner) = cabin.candidate_reader, sides
    attention, similarity = reader.weights(own, partner)
    by_attention = attention[0] @ own["hidden"][0]
    close(by_attention, [0.056234, 0.154225, 0.179682, 0.120631])
    fused = by_attention * (similarity[0] @ own["hidden"][0])
    close(fused, [0.004555, 0.011284, 0.005555, -0.003121])
    close(reader(own, partner)[0], [0.311933, 0.455993, 0.406938, 0.165806])


def test_one_number_per_word_stands_for_the_outer_product_of_equation_13(cabin, sides):
    own, partner = sides
    attention = cabin.candidate_reader.attention
    outer = torch.einsum("btd,be->btde", context_jump(own["hidden"]), partner["sentence"])
    similarity = torch.tanh(torch.einsum("d,btde->bte", attention.q1, outer)) @ attention.q2
    _, expected = attention(own["keys"], partner["sentence"], own.view.mask)
    close(similarity.softmax(1) - expected, np.zeros((1, 4)))


def test_equation_16_as_printed_would_ignore_the_weights(cabin, sides):
    attention, _ = cabin.candidate_reader.weights(*sides)
    last = sides[0]["hidden"][0, -1]
    close(torch.outer(attention[0], last).sum(0), last)


@pytest.mark.parametrize(("length", "most"), [(10, 0.450853), (25, 0.235402), (50, 0.131037)])
def test_no_word_gets_more_attention_than_tanh_allows(length, most):
    keys = torch.full((1, length, 2), -100.0)
    keys[0, 3, 0] = 100
    mask = torch.ones(1, length, dtype=torch.bool)
    attention, _ = InteractiveAttention(D, jump=True)(keys, torch.zeros(1, D), mask)
    assert attention.max().item() == pytest.approx(most, abs=1e-6)
    assert most == pytest.approx(math.e**2 / (math.e**2 + length - 1), abs=1e-6)


@pytest.mark.parametrize("length", [1, 4, 9])
def test_without_attention_all_words_weigh_the_same(length):
    model = Cabin(Cabin.Config(hidden=H, attention=False), words())
    own = States(
        view(length), {"hidden": torch.randn(1, length, D)}, {"sentence": torch.randn(1, D)}
    )
    for weights in model.query_reader.weights(own, own):
        close(weights, np.full((1, length), 1 / length))


def test_parameter_counts():
    # the paper prints none. Its sizes give 122,700 for the matcher, and 481,600 for the recurrence
    # of one text where a gate has one bias; nn.LSTM has two, 4·100 more per direction and layer.
    vocabulary = words(dim=300)
    dim, size = 200, 100
    matcher = 6 * dim + 4 * dim + 2 * (dim * dim + dim) + 2 * dim * size + size + 2 * size
    lstm = sum(4 * ((inputs + 100) * 100 + 100) for inputs in (300, 100))
    assert (matcher, 2 * lstm) == (122_700, 481_600)
    assert Cabin(Cabin.Config(), vocabulary).trainable_parameters() == 122_700
    whole = Cabin(Cabin.Config(freeze_lm=False), vocabulary).trainable_parameters()
    assert whole == 122_700 + 2 * (481_600 + 2 * 2 * 400)
    no_jump = Cabin(Cabin.Config(jump=False), vocabulary).trainable_parameters()
    assert no_jump == 122_700 - 2 * dim
    no_attention = Cabin(Cabin.Config(attention=False), vocabulary).trainable_parameters()
    assert no_attention == 122_700 - 10 * dim
