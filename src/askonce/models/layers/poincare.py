"""Geometry of the Poincaré ball: the open unit ball, whose distances grow without bound outwards.

Values and gradients are finite for any finite points: equal ones, zero, on the sphere or beyond.
"""

import torch
from torch import Tensor
from torch.linalg import vector_norm

RADIUS = 1 - 1e-5  # HyperQA's ball
EDGE = 1 - 5e-11  # beyond, float64 has fewer than six digits of 1 - ‖x‖²


def clip_to_ball(points: Tensor, radius: float = RADIUS) -> Tensor:
    """Project points outside the radius onto it: y · radius / ‖y‖ (section 3.3)."""
    norm = vector_norm(points, dim=-1, keepdim=True)  # (..., 1)
    return points * (radius / norm.clamp_min(radius))  # (..., D)


def room(points: Tensor, radius: float = EDGE) -> Tensor:
    """1 - ‖x‖² in float64; points beyond the radius are treated as on it."""
    norm = vector_norm(points, dim=-1, dtype=torch.float64)  # (...,)
    return ((1 - norm) * (1 + norm)).clamp_min((1 - radius) * (1 + radius))


def distance(one: Tensor, other: Tensor, radius: float = EDGE) -> Tensor:
    """Hyperbolic distance (eq. 4) of points (..., D), broadcast over the leading dimensions.

    With t² = ‖x-y‖² / ((1-‖x‖²)(1-‖y‖²)) it is arcosh(1 + 2t²) = 2 arsinh(t): no cancellation
    for near points, and a slope that stays finite at equal ones, where it is taken as zero.
    """
    gap = vector_norm(one - other, dim=-1, dtype=torch.float64)  # (...,)
    t = gap / (room(one, radius) * room(other, radius)).sqrt()
    return (2 * torch.asinh(t)).to(one.dtype)  # (...,)


def query_key(points: Tensor) -> Tensor:
    """Keys (2u, -‖u‖², -1), whose inner product with candidate keys is -‖u-v‖² / (1-‖v‖²).

    For a given u it falls as the distance grows, so it gives the order of the distances.
    """
    squared = points.square().sum(-1, keepdim=True)  # (..., 1)
    return torch.cat([2 * points, -squared, -torch.ones_like(squared)], dim=-1)  # (..., D+2)


def candidate_key(points: Tensor, radius: float = EDGE) -> Tensor:
    """Keys (v, 1, ‖v‖²) / (1-‖v‖²).

    They reach 1 / (1-radius²), 5·10⁴ for HyperQA. That fits float16, but a product with a query key
    does not: scale all keys by one constant for sums in half precision.
    """
    squared = points.square().sum(-1, keepdim=True)  # (..., 1)
    key = torch.cat([points, torch.ones_like(squared), squared], dim=-1)  # (..., D+2)
    return (key / room(points, radius).unsqueeze(-1)).to(points.dtype)
