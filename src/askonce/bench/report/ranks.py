"""Ranks of scores."""

import numpy as np


def mean_ranks(scores: np.ndarray) -> np.ndarray:
    """The rank of each score, 1 for the highest; equal scores share their mean rank."""
    _, place, count = np.unique(-scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(count) - (count - 1) / 2
    return np.asarray(ranks[place])
