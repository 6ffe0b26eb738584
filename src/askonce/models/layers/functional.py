"""Functions on padded states (B, T, D): pooling, softmax over words, similarities of vectors.

The maximum over words has a gradient of its own, which touches only the words that gave it:
``amax`` shares its gradient among equal values, for which it goes through all states four times.
"""

from typing import cast

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction, FunctionCtx, once_differentiable


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Mean over the real words."""
    return weighted_mean(states, mask.to(states.dtype), mask)  # (B, D)


def weighted_mean(states: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
    """Mean over the real words, each times its weight, which is zero on padding."""
    return torch.einsum("btd,bt->bd", states, weights) / mask.sum(1, keepdim=True)  # (B, D)


def masked_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Weights that sum to one over the real words and are zero on padding."""
    return logits.masked_fill(~mask, -torch.inf).softmax(-1)  # (..., T)


def last_state(states: Tensor, lengths: Tensor) -> Tensor:
    """The state at the last real word."""
    rows = torch.arange(len(states), device=states.device)
    return states[rows, lengths - 1]  # (B, D)


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Cosine with the guard of all five papers' re-implementations: x·y / (‖x‖‖y‖ + 1e-8)."""
    return (a * b).sum(-1) / (safe_norm(a) * safe_norm(b) + 1e-8)  # (...,)


def safe_norm(vectors: Tensor) -> Tensor:
    """Euclidean length whose gradient at zero is zero, not NaN."""
    return (vectors * vectors).sum(-1).clamp_min(1e-24).sqrt()  # (...,)


def gesd(a: Tensor, b: Tensor) -> Tensor:
    """Feng's geometric mean of Euclidean and sigmoid dot product, γ = c = 1."""
    return 1 / (1 + safe_norm(a - b)) * torch.sigmoid((a * b).sum(-1) + 1)  # (...,)


def masked_max(states: Tensor, mask: Tensor) -> Tensor:
    """Greatest value over the real words; padding is minus infinity, as all may be negative."""
    if torch.is_grad_enabled() and states.requires_grad:
        return _MaxPool.apply(states, None, mask)  # type: ignore[no-untyped-call] # (B, D)
    return _emptied(states.clone(memory_format=torch.contiguous_format), mask).amax(1)  # (B, D)


def weighted_max(states: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
    """Greatest value over the real words (B, T, D), each times its weight (B, T)."""
    if torch.is_grad_enabled() and (states.requires_grad or weights.requires_grad):
        return _MaxPool.apply(states, weights, mask)  # type: ignore[no-untyped-call] # (B, D)
    return _emptied(states * weights.unsqueeze(-1), mask).amax(1)  # (B, D)


def _emptied(values: Tensor, mask: Tensor) -> Tensor:
    """The values, in place, with minus infinity on padding; masked_fill would visit them all."""
    values = values.contiguous()  # or flatten would copy
    padding = (~mask).flatten().nonzero().squeeze(1)
    values.flatten(0, 1).index_fill_(0, padding, -torch.inf)
    return values  # (B, T, D)


class _MaxPool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, states: Tensor, weights: Tensor | None, mask: Tensor) -> Tensor:
        if weights is None:
            values = states.clone(memory_format=torch.contiguous_format)  # (B, T, D)
        else:
            values = states * weights.unsqueeze(-1)  # (B, T, D)
        greatest, places = _emptied(values, mask).max(1)  # (B, D) each
        if weights is None:
            ctx.save_for_backward(places)
        else:
            chosen = states.gather(1, places.unsqueeze(1)).squeeze(1)  # (B, D)
            ctx.save_for_backward(places, chosen, weights)
        ctx.words = states.shape[1]  # type: ignore[attr-defined]
        return greatest

    @staticmethod
    @once_differentiable
    def backward(ctx: BackwardCFunction, by_value: Tensor) -> tuple[Tensor | None, ...]:
        places, *weighed = cast(tuple[Tensor, ...], ctx.saved_tensors)
        by_state, by_weights = by_value, None  # (B, D)
        if weighed:
            chosen, weights = weighed
            by_state = by_value * weights.gather(1, places)  # (B, D)
            by_weights = torch.zeros_like(weights).scatter_add_(1, places, by_value * chosen)
        count, dim = by_value.shape
        by_states = by_value.new_zeros(count, ctx.words, dim)  # type: ignore[attr-defined]
        by_states.scatter_(1, places.unsqueeze(1), by_state.unsqueeze(1))  # (B, T, D)
        return by_states, by_weights, None
