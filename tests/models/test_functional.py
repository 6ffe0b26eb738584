"""Greatest values over words: those of the plain formula, and so are their gradients."""

import pytest
import torch

from askonce.models.layers.functional import masked_max, masked_mean, weighted_max, weighted_mean


@pytest.fixture
def words():
    torch.manual_seed(1)
    states = torch.randn(4, 5, 3, dtype=torch.float64, requires_grad=True)  # (B, T, D)
    mask = torch.arange(5) < torch.tensor([5, 3, 1, 4])[:, None]  # (B, T)
    weights = (torch.rand(4, 5, dtype=torch.float64) * mask).requires_grad_()
    return states, weights, mask


def plain(states, mask):
    return states.masked_fill(~mask[..., None], -torch.inf).amax(1)


def test_values_with_and_without_gradient(words):
    states, weights, mask = words
    expected = plain(states, mask), plain(states * weights[..., None], mask)
    before = states.detach().clone()
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            torch.testing.assert_close(masked_max(states, mask), expected[0])
            torch.testing.assert_close(weighted_max(states, weights, mask), expected[1])
    assert torch.equal(states, before)  # padding is filled in a copy


def test_states_that_lie_in_another_order(words):
    states, weights, mask = words
    turned = states.detach().transpose(0, 1).contiguous().transpose(0, 1).requires_grad_()
    torch.testing.assert_close(masked_max(turned, mask), masked_max(states, mask))
    torch.testing.assert_close(
        weighted_max(turned, weights, mask), weighted_max(states, weights, mask)
    )


def test_values_below_zero_win_over_padding(words):
    states, weights, mask = words
    low = -states.detach().abs() - 1
    assert (masked_max(low, mask) < -1).all()
    assert (weighted_max(low, weights.detach() + 0.1, mask) < 0).all()


def test_gradients(words):
    states, weights, mask = words
    assert torch.autograd.gradcheck(lambda s: masked_max(s, mask), (states,))
    assert torch.autograd.gradcheck(lambda s, w: weighted_max(s, w, mask), (states, weights))
    masked_max(states, mask).sum().backward()
    assert states.grad.count_nonzero() == 4 * 3  # one word of each text and value
    assert (states.grad[~mask] == 0).all()


def test_a_weighed_mean_is_the_mean_of_what_is_weighed(words):
    states, weights, mask = words
    torch.testing.assert_close(
        weighted_mean(states, weights, mask), masked_mean(states * weights[..., None], mask)
    )
