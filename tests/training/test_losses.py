"""The losses against numbers worked by hand and against torch's own."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy as torch_cross_entropy

from askonce.training.losses import LOSSES, cross_entropy, hinge, max_margin, softmax

FINITE = st.floats(-50, 50, width=32)


def rows(*scores, labels, mask=None):
    values = torch.tensor([list(scores)], dtype=torch.float64)
    marks = torch.tensor([labels])
    return values, marks, marks >= 0 if mask is None else torch.tensor([mask])


@pytest.mark.parametrize("loss", [hinge, max_margin])
@pytest.mark.parametrize(
    ("right", "wrong", "margin", "expected"),
    [
        (0.6, 0.5, 0.2, 0.1),
        (-0.5, -2.0, 1.0, 0.0),  # HyperQA: the score is minus the distance
        (-1.5, -1.0, 1.0, 1.5),
        (0.3, 0.3, 1.0, 1.0),  # equal scores cost the margin
    ],
)
def test_margin_losses_of_one_pair(loss, right, wrong, margin, expected):
    actual = loss(*rows(right, wrong, labels=[1, 0]), margin)
    assert actual.tolist() == pytest.approx([expected])


def test_hinge_is_the_mean_over_pairs_and_max_margin_the_worst():
    group = rows(0.9, 0.4, 0.7, -3.0, labels=[1, 1, 0, 0])
    # pairs: .9/.7 -> .3, .9/-3 -> 0, .4/.7 -> .8, .4/-3 -> 0
    assert hinge(*group, 0.5).item() == pytest.approx((0.3 + 0.8) / 4)
    assert max_margin(*group, 0.5).item() == pytest.approx(0.8)


@given(FINITE, FINITE, st.floats(0, 5))
def test_max_margin_over_one_negative_is_hinge(right, wrong, margin):
    group = rows(right, wrong, labels=[1, 0])
    assert max_margin(*group, margin).item() == pytest.approx(hinge(*group, margin).item())


def test_only_the_hardest_negative_gets_gradient():
    scores, labels, mask = rows(0.5, 0.1, 0.4, 0.3, labels=[1, 0, 0, 0])
    scores.requires_grad_()
    max_margin(scores, labels, mask, 1.0).sum().backward()
    assert scores.grad.tolist() == [[-1, 0, 1, 0]]


@pytest.mark.parametrize("loss", [hinge, max_margin])
def test_a_gap_beyond_the_margin_gets_no_gradient(loss):
    scores, labels, mask = rows(3.0, 1.0, labels=[1, 0])
    scores.requires_grad_()
    loss(scores, labels, mask, 1.5).sum().backward()
    assert scores.grad.tolist() == [[0, 0]]


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", LOSSES)
def test_what_is_outside_the_mask_is_never_read(name, poison):
    inside = torch.tensor([[0.3, -0.2, 0.9], [1.0, 2.0, -1.0]])
    labels = torch.tensor([[1, 0, 0], [0, 2, 1]])
    alone = inside.clone().requires_grad_()
    expected = LOSSES[name](alone, labels, torch.ones(2, 3, dtype=torch.bool), 0.5)
    expected.sum().backward()

    wide = torch.cat([inside, torch.full((2, 2), poison)], 1).requires_grad_()
    marks = torch.cat([labels, torch.tensor([[1, 0], [0, 1]])], 1)
    mask = torch.tensor([[True] * 3 + [False] * 2] * 2)
    actual = LOSSES[name](wide, marks, mask, 0.5)
    actual.sum().backward()
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(wide.grad[:, :3], alone.grad)
    assert (wide.grad[:, 3:] == 0).all()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("labels", [[1, 1, -1], [0, 0, -1], [-1, -1, -1]])
def test_groups_of_one_kind_or_none_are_harmless(name, labels):
    scores, marks, mask = rows(0.5, 0.1, 7.0, labels=labels)
    scores.requires_grad_()
    loss = LOSSES[name](scores, marks.clamp_min(0), mask, 1.0)
    loss.sum().backward()
    assert loss.isfinite().all()
    assert scores.grad.isfinite().all()
    if name in ("hinge", "max_margin"):
        assert loss.item() == 0


@pytest.mark.parametrize("name", LOSSES)
def test_each_group_counts_alone(name):
    torch.manual_seed(1)
    scores, labels = torch.randn(6, 5), torch.randint(0, 2, (6, 5))
    mask = torch.rand(6, 5) < 0.8
    together = LOSSES[name](scores, labels, mask, 1.0)
    apart = [LOSSES[name](*(t[i : i + 1] for t in (scores, labels, mask)), 1.0) for i in range(6)]
    assert together.shape == (6,)
    torch.testing.assert_close(together, torch.cat(apart))


def test_softmax_with_one_right_is_torch_cross_entropy():
    torch.manual_seed(1)
    scores, right = torch.randn(4, 7), torch.tensor([0, 3, 6, 2])
    labels = torch.nn.functional.one_hot(right, 7)
    actual = softmax(scores, labels, torch.ones(4, 7, dtype=torch.bool), 0.0)
    torch.testing.assert_close(actual, torch_cross_entropy(scores, right, reduction="none"))


def test_softmax_over_a_pool_is_the_listwise_divergence_up_to_a_constant():
    scores, labels, mask = rows(0.2, 1.5, -0.3, 0.7, labels=[1, 0, 2, 1])
    target = torch.tensor([[0.25, 0.0, 0.5, 0.25]], dtype=torch.float64)
    divergence = torch.nn.functional.kl_div(scores.log_softmax(1), target, reduction="sum")
    entropy = -sum(p * math.log(p) for p in (0.25, 0.5, 0.25))
    assert softmax(scores, labels, mask, 0.0).item() == pytest.approx(divergence.item() + entropy)


def test_cross_entropy_is_that_of_a_two_class_softmax():
    scores, labels, mask = rows(0.4, -1.2, 2.5, labels=[1, 0, 0])
    logits = torch.stack([torch.zeros(3, dtype=torch.float64), scores[0]], 1)  # (3, 2)
    expected = torch_cross_entropy(logits, labels[0])
    assert cross_entropy(scores, labels, mask, 0.0).item() == pytest.approx(expected.item())
    assert cross_entropy(*rows(0.0, labels=[1]), 0.0).item() == pytest.approx(math.log(2))


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_those_of_finite_differences(name):
    torch.manual_seed(2)
    scores = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1]])
    mask = torch.tensor([[True] * 4, [True] * 3 + [False], [True] * 4])
    assert torch.autograd.gradcheck(lambda s: LOSSES[name](s, labels, mask, 1.0), scores)
