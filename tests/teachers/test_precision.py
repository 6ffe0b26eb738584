"""Teachers in 8-bit integers: close to float32, one name, only where a model allows it."""

import numpy as np
import pytest
import torch
from torch import nn

from askonce.teachers import precision
from askonce.teachers.precision import Int8Linear, Precision, fastest, to_int8
from askonce.teachers.teacher import SentenceTeacher

TEXTS = ["the w12 w3", "w4", "", "the w99 the w1 w2 w3"]


@pytest.mark.parametrize(("tokens", "width", "outputs"), [(1, 7, 3), (5, 64, 33), (300, 384, 128)])
@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_of_integers_is_close_whatever_the_size_of_a_token(tokens, width, outputs, bias):
    torch.manual_seed(0)
    layer, given = nn.Linear(width, outputs, bias=bias), torch.randn(2, tokens, width)
    given[0, 0] *= 1000  # a large token must not take the digits of the others
    with torch.inference_mode():
        exact, short = layer(given), Int8Linear(layer)(given)
    error = (short - exact).norm(dim=-1) / exact.norm(dim=-1)  # (2, tokens)
    assert short.shape == exact.shape and error.max() < 0.05 and error.mean() < 0.015


def test_a_token_of_zeros_gives_the_bias():
    layer = nn.Linear(4, 2)
    torch.testing.assert_close(Int8Linear(layer)(torch.zeros(1, 4))[0], layer.bias)


def test_numbers_far_from_zero_keep_their_differences():
    torch.manual_seed(0)
    layer, given = nn.Linear(64, 8), 20 + 0.1 * torch.randn(5, 64)
    with torch.inference_mode():
        exact, short = layer(given), Int8Linear(layer)(given)
    exact, short = exact - exact.mean(0), short - short.mean(0)  # each was rounded to 20 otherwise
    assert (short - exact).norm() < 0.05 * exact.norm()


def test_the_fastest_of_some_is_one_of_them():
    assert fastest(Precision.FLOAT32) == Precision.FLOAT32
    assert fastest() in Precision


def test_a_teacher_has_one_name_and_one_space_in_every_precision(bert):
    exact, *others = (SentenceTeacher(bert, kind) for kind in Precision)
    for other in others:
        assert (other.name, other.dim, other.parameters) == (
            exact.name,
            exact.dim,
            exact.parameters,
        )
        assert (exact.encode(TEXTS) * other.encode(TEXTS)).sum(1).min() > 0.99
    assert [teacher.precision for teacher in (exact, *others)] == list(Precision)
    with pytest.raises(AssertionError):  # so the layers were really changed
        np.testing.assert_array_equal(exact.encode(TEXTS), others[-1].encode(TEXTS))


def test_a_model_that_needs_its_float_weights_keeps_them(bert, monkeypatch):
    def spoil(module: nn.Module) -> None:
        to_int8(module)
        for part in module.modules():
            if isinstance(part, Int8Linear):
                part.scale.neg_()

    monkeypatch.setattr(precision, "to_int8", spoil)
    teacher = SentenceTeacher(bert, Precision.INT8)
    assert teacher.precision == Precision.FLOAT32
    expected = SentenceTeacher(bert, Precision.FLOAT32).encode(TEXTS)
    np.testing.assert_array_equal(teacher.encode(TEXTS), expected)
