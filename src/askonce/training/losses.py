"""Losses over groups: each row of scores belongs to a query, each column to a candidate.

``labels`` are above 0 for right candidates; scores outside ``mask`` are ignored. Every loss returns
one value per group, so that the mean over groups does not depend on the number of processes.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from askonce.training.recipe import LossName

GroupLoss = Callable[[Tensor, Tensor, Tensor, float], Tensor]


def hinge(scores: Tensor, labels: Tensor, mask: Tensor, margin: float) -> Tensor:
    """Mean of max(0, M - s⁺ + s⁻) over all pairs of a right and a wrong candidate."""
    right, wrong = mask & (labels > 0), mask & (labels <= 0)  # (G, C)
    pairs = right.unsqueeze(2) & wrong.unsqueeze(1)  # (G, C, C)
    gaps = (margin - scores.unsqueeze(2) + scores.unsqueeze(1)).clamp_min(0)  # (G, C, C)
    total = gaps.masked_fill(~pairs, 0).sum((1, 2))
    return total / pairs.sum((1, 2)).clamp_min(1)  # (G,)


def max_margin(scores: Tensor, labels: Tensor, mask: Tensor, margin: float) -> Tensor:
    """max(0, M - s⁺ + max s⁻): the hardest negative against the lowest right candidate."""
    right, wrong = mask & (labels > 0), mask & (labels <= 0)  # (G, C)
    hardest = scores.masked_fill(~wrong, -torch.inf).amax(1)  # (G,)
    weakest = scores.masked_fill(~right, torch.inf).amin(1)  # (G,)
    gap = (margin - weakest + hardest).clamp_min(0)
    return gap.where(right.any(1) & wrong.any(1), gap.new_zeros(()))  # (G,)


def cross_entropy(scores: Tensor, labels: Tensor, mask: Tensor, margin: float) -> Tensor:
    """Binary cross-entropy of each candidate; the score is the log-odds of being right."""
    scores = scores.masked_fill(~mask, 0)  # masked scores may be infinite, and 0 · inf is nan
    target = (labels > 0).to(scores.dtype)
    each = binary_cross_entropy_with_logits(scores, target, reduction="none")  # (G, C)
    return each.masked_fill(~mask, 0).sum(1) / mask.sum(1).clamp_min(1)  # (G,)


def softmax(scores: Tensor, labels: Tensor, mask: Tensor, margin: float) -> Tensor:
    """Cross-entropy between the normalised labels and the softmax over the group.

    Over a pool this is the listwise loss of compare-aggregate, whose KL differs by a constant. Over
    the candidates of a whole batch it is the loss with in-batch negatives.
    """
    target = labels.clamp_min(0).to(scores.dtype).masked_fill(~mask, 0)  # (G, C)
    target = target / target.sum(1, keepdim=True).clamp_min(1e-9)
    log_p = scores.masked_fill(~mask, -torch.inf).log_softmax(1)  # (G, C)
    return -(target * log_p.masked_fill(~mask, 0)).sum(1)  # (G,)


LOSSES: dict[LossName, GroupLoss] = {
    "hinge": hinge,
    "max_margin": max_margin,
    "cross_entropy": cross_entropy,
    "softmax": softmax,
}
