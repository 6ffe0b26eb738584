"""Functions on padded states (B, T, D): pooling, softmax over words, similarities of vectors.

The maximum over words has a custom gradient, which touches only the words that gave it: ``amax``
shares its gradient among equal values, for which it passes over all states four times.
"""

from typing import cast

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction, FunctionCtx, once_differentiable


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    return weighted_mean(states, mask.to(states.dtype), mask)  # (B, D)


def weighted_mean(states: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
    """Mean over the real words, each times its weight (B, T), which is zero on padding."""
    return torch.einsum("btd,bt->bd", states, weights) / mask.sum(1, keepdim=True)  # (B, D)


def masked_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Weights that sum to one over the real words and are zero on padding."""
    return logits.masked_fill(~mask, -torch.inf).softmax(-1)  # (..., T)


def last_state(states: Tensor, lengths: Tensor) -> Tensor:
    rows = torch.arange(len(states), device=states.device)
    return states[rows, lengths - 1]  # (B, D)


def direction_ends(states: Tensor, lengths: Tensor) -> Tensor:
    """Where each direction of [→ ; ←] ends: → at the last word, ← at the first."""
    forwards, backwards = states.chunk(2, dim=-1)  # (B, T, H) each
    return torch.cat([last_state(forwards, lengths), backwards[:, 0]], dim=-1)  # (B, 2H)


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Cosine as the papers' code computes it: x·y / (‖x‖‖y‖ + 1e-8)."""
    return _inner(a, b) / (safe_norm(a) * safe_norm(b) + 1e-8)  # (...,)


def _inner(a: Tensor, b: Tensor) -> Tensor:
    """Inner products (...,); of all rows (n, 1, D) with all rows (1, m, D) by one product."""
    if a.dim() == b.dim() == 3 and a.shape[1] == b.shape[0] == 1:
        return a[:, 0] @ b[0].T  # (n, m)
    return (a * b).sum(-1)


def safe_norm(vectors: Tensor) -> Tensor:
    """Euclidean length whose gradient at zero is zero, not NaN."""
    return (vectors * vectors).sum(-1).clamp_min(1e-24).sqrt()  # (...,)


def gesd(a: Tensor, b: Tensor) -> Tensor:
    """Feng's geometric mean of Euclidean and sigmoid dot product, γ = c = 1."""
    return 1 / (1 + safe_norm(a - b)) * torch.sigmoid((a * b).sum(-1) + 1)  # (...,)


def masked_max(states: Tensor, mask: Tensor) -> Tensor:
    if torch.is_grad_enabled() and states.requires_grad:
        return _MaxPool.apply(states, None, mask)  # type: ignore[no-untyped-call] # (B, D)
    return _mask_out(states.clone(memory_format=torch.contiguous_format), mask).amax(1)  # (B, D)


def weighted_max(states: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
    """Maximum over the real words (B, T, D), each times its weight (B, T)."""
    if torch.is_grad_enabled() and (states.requires_grad or weights.requires_grad):
        return _MaxPool.apply(states, weights, mask)  # type: ignore[no-untyped-call] # (B, D)
    return _mask_out(states * weights.unsqueeze(-1), mask).amax(1)  # (B, D)


def _mask_out(values: Tensor, mask: Tensor) -> Tensor:
    """Set padding to minus infinity in place; masked_fill would visit all values."""
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
        maximum, words = _mask_out(values, mask).max(1)  # (B, D) each
        if weights is None:
            ctx.save_for_backward(words)
        else:
            chosen = states.gather(1, words.unsqueeze(1)).squeeze(1)  # (B, D)
            ctx.save_for_backward(words, chosen, weights)
        ctx.time = states.shape[1]  # type: ignore[attr-defined]
        return maximum

    @staticmethod
    @once_differentiable
    def backward(ctx: BackwardCFunction, by_value: Tensor) -> tuple[Tensor | None, ...]:
        words, *weighted = cast(tuple[Tensor, ...], ctx.saved_tensors)
        by_state, by_weights = by_value, None  # (B, D)
        if weighted:
            chosen, weights = weighted
            by_state = by_value * weights.gather(1, words)  # (B, D)
            by_weights = torch.zeros_like(weights).scatter_add_(1, words, by_value * chosen)
        count, dim = by_value.shape
        by_states = by_value.new_zeros(count, ctx.time, dim)  # type: ignore[attr-defined]
        by_states.scatter_(1, words.unsqueeze(1), by_state.unsqueeze(1))  # (B, T, D)
        return by_states, by_weights, None
