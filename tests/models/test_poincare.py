"""Hyperbolic geometry to the last digit."""

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from askonce.models.layers.poincare import (
    RADIUS,
    candidate_key,
    clip_to_ball,
    distance,
    query_key,
    room,
)

# how far inside the sphere, and how far apart in direction: each over many magnitudes
insides = st.floats(-7, 0).map(lambda power: 10.0**power)
spreads = st.floats(-14, 1).map(lambda power: 10.0**power)
seeds = st.integers(0, 2**32 - 1)


def pair(seed, inside_one, inside_other, spread, dim=5):
    rng = np.random.default_rng(seed)
    one = rng.normal(size=dim)
    other = one + spread * rng.normal(size=dim)
    one *= (1 - inside_one) / np.linalg.norm(one)
    other *= (1 - inside_other) / np.linalg.norm(other)
    return torch.tensor(one), torch.tensor(other)


def exact(one, other):
    """Eq. 4 as written and its gradient for the first point (eq. 5).

    With 150 digits: of points 1e-27 apart, γ - 1 is 1e-54, and 60 digits keep six of it.
    """
    with mpmath.workdps(150):
        x, y = ([mpmath.mpf(value) for value in p.double().tolist()] for p in (one, other))
        xx, yy, xy = (mpmath.fdot(a, b) for a, b in ((x, x), (y, y), (x, y)))
        alpha, beta = 1 - xx, 1 - yy
        gamma = 1 + 2 * (xx - 2 * xy + yy) / (alpha * beta)
        front = 4 / (beta * mpmath.sqrt(gamma**2 - 1))
        gradient = [
            front * ((yy - 2 * xy + 1) / alpha**2 * a - b / alpha)
            for a, b in zip(x, y, strict=True)
        ]
        return float(mpmath.acosh(gamma)), torch.tensor(
            list(map(float, gradient)), dtype=torch.float64
        )


def slope(one, other):
    one = one.clone().requires_grad_()
    value = distance(one, other)
    value.backward()
    return value.detach(), one.grad


@given(seeds, insides, insides, spreads)
@example(1047753, 0.9999999999999831, 0.9999999999999831, 1e-13)
def test_distance_and_gradient_are_exact_up_to_radius_one_minus_1e_7(seed, near, far, spread):
    one, other = pair(seed, near, far, spread)
    if torch.equal(one, other):
        return
    value, gradient = slope(one, other)
    expected, expected_gradient = exact(one, other)
    assert float(value) == pytest.approx(expected, rel=1e-8, abs=1e-15)
    assert float((gradient - expected_gradient).norm() / expected_gradient.norm()) < 1e-8


@given(seeds, insides, insides, spreads)
def test_float32_points_get_float32_accuracy(seed, near, far, spread):
    one, other = (p.float() for p in pair(seed, near, far, spread))
    outside = max(float(p.double().norm()) for p in (one, other)) > 1 - 1e-8
    if outside or torch.equal(one, other):  # rounding may have put a point on the sphere
        return
    value, gradient = slope(one, other)
    expected, expected_gradient = exact(one, other)
    assert value.dtype == gradient.dtype == torch.float32
    assert float(value) == pytest.approx(expected, rel=2e-7)
    assert float((gradient - expected_gradient).norm() / expected_gradient.norm()) < 1e-6


LENGTHS = [0.0, 1e-30, 0.3, 1 - 1e-5, 1 - 1e-7, 1.0, 1 + 1e-7, 3.0, 1e8]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("radius", [None, RADIUS])
def test_nothing_is_ever_infinite_or_not_a_number(dtype, radius):
    direction = torch.nn.functional.normalize(torch.tensor([1.0, 2.0, 2.0]), dim=0)
    base = torch.stack([length * direction for length in LENGTHS]).to(dtype)
    points = torch.cat([base, base.flip(1), base * (1 + 1e-6)]).requires_grad_()
    one, other = points[:, None], points[None]
    limit = {} if radius is None else {"radius": radius}
    for near, far in ((one, other), (clip_to_ball(one), clip_to_ball(other))):
        values = distance(near, far, **limit)
        (gradient,) = torch.autograd.grad(values.sum(), points)
        assert values.isfinite().all()
        assert gradient.isfinite().all()
        assert (values.diagonal() == 0).all()
    assert query_key(points).isfinite().all()
    assert candidate_key(points, **limit).isfinite().all()


@given(seeds, insides, insides, insides)
def test_distance_is_a_metric_that_rotation_keeps(seed, a, b, c):
    one, other = pair(seed, a, b, 1.0)
    third, _ = pair(seed + 1, c, c, 1.0)
    apart = distance(one, other)
    assert float(apart) == float(distance(other, one))
    assert float(distance(one, one)) == 0
    assert float(apart) <= float(distance(one, third) + distance(third, other)) + 1e-8
    turn, _ = torch.linalg.qr(torch.tensor(np.random.default_rng(seed).normal(size=(5, 5))))
    assert float(distance(turn @ one, turn @ other)) == pytest.approx(float(apart), abs=1e-7)


def test_gradient_checks_numerically_through_clip_and_distance():
    torch.manual_seed(2)
    inner, outer = 0.1 * torch.randn(3, 4).double(), 2 * torch.randn(3, 4).double()
    points = (inner.requires_grad_(), outer.requires_grad_())
    assert torch.autograd.gradcheck(lambda x, y: distance(clip_to_ball(x), clip_to_ball(y)), points)


def test_clip_leaves_inner_points_and_keeps_directions():
    points = torch.tensor([[0.3, 0.4], [3.0, 4.0], [0.0, 0.0]]).double()
    clipped = clip_to_ball(points)
    torch.testing.assert_close(clipped[0], points[0], atol=0, rtol=0)
    torch.testing.assert_close(clipped[1], points[1] / 5 * RADIUS)
    assert (clipped[2] == 0).all()


def test_a_point_beyond_the_radius_counts_as_on_it():
    edge = 1 - RADIUS**2
    points = torch.tensor([[0.6, 0.0], [1 - 9e-6, 0.0], [7.0, 0.0]]).double()
    torch.testing.assert_close(room(points, RADIUS), torch.tensor([0.64, edge, edge]).double())
