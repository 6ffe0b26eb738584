"""Fuse the scores of several stages into one."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np

from askonce.ranking.stages import ASKED, BM25, Candidates, Ranked

How = Literal["zscore", "reciprocal"]
Ties = Literal["best", "mean"]  # the rank that equal scores share
Normalised = Callable[[str, How], np.ndarray]  # the scores of a stage, by its name
RANK_CONSTANT = 60  # k of 1 / (k + rank), Cormack et al. 2009


def zscores(values: np.ndarray) -> np.ndarray:
    """Scores minus their mean, in standard deviations; zeros where all are equal.

    A score that is not finite is missing: it counts as the worst of the others.
    """
    values = np.asarray(values, dtype=np.float64)
    known = np.isfinite(values)
    if not known.any():
        return np.zeros(len(values))
    if not known.all():
        values = np.where(known, values, values[known].min())
    have = values[known]
    mean = np.add.reduce(have) / len(have)
    # as ``np.std``, which takes several times longer for so few numbers
    deviation = math.sqrt(np.add.reduce(np.square(have - mean)) / len(have))
    # equal numbers may have a tiny deviation, since their mean is rounded
    if deviation <= 1e-12 * np.abs(have).max():
        return np.zeros(len(values))
    return (values - mean) / deviation


def reciprocal_ranks(values: np.ndarray, ties: Ties = "best") -> np.ndarray:
    """1 / (60 + rank), equal scores with equal ranks; 0 where the score is missing."""
    values = np.asarray(values, dtype=np.float64)
    known = np.isfinite(values)
    descending, keys = np.sort(-values[known]), np.where(known, -values, 0.0)
    best = 1 + np.searchsorted(descending, keys, side="left")
    last = np.searchsorted(descending, keys, side="right") if ties == "mean" else best
    ranks = (best + last) / 2  # (C,)
    return np.where(known, 1 / (RANK_CONSTANT + ranks), 0.0)


def fuse(
    scores: Mapping[str, np.ndarray],
    weights: Mapping[str, float],
    how: How = "zscore",
    ties: Ties = "best",
) -> np.ndarray:
    """One score per candidate: the weighted sum over stages of z-scores or reciprocal ranks."""
    parts = {name: normalise(values, how, ties) for name, values in scores.items()}
    return np.sum([weights[name] * values for name, values in parts.items()], axis=0)


def normalise(values: np.ndarray, how: How, ties: Ties = "best") -> np.ndarray:
    """The scores of one stage on a scale that stages share."""
    return zscores(values) if how == "zscore" else reciprocal_ranks(values, ties)


@dataclass(frozen=True)
class Fusion:
    """How stages are fused, and the weight of each."""

    how: How = "zscore"
    weights: Mapping[str, float] = field(default_factory=lambda: {BM25: 1.0})

    def weight(self, stage: str) -> float:
        """The weight of a stage; a score lent by similar questions counts as much as BM25."""
        return self.weights.get(BM25) or 1.0 if stage == ASKED else self.weights.get(stage, 0.0)

    def scores(
        self, stages: Mapping[str, np.ndarray], normalised: Normalised | None = None
    ) -> np.ndarray:
        """One score per candidate.

        A stage alone, and BM25 with lent scores, which are BM25's too, keep their own scale.
        ``normalised`` has the stages on a common scale already.
        """
        weights = {name: self.weight(name) for name in stages}
        used = {name: values for name, values in stages.items() if weights[name] != 0}
        if used.keys() <= {ASKED}:
            used = dict(stages)
        if len(used) == 1 or used.keys() <= {BM25, ASKED}:
            return np.sum(list(used.values()), axis=0)
        if normalised is None:
            return fuse(used, weights, self.how)
        return np.sum([weights[name] * normalised(name, self.how) for name in used], axis=0)

    def join(self, candidates: Candidates) -> Ranked:
        """The candidates in order, best first; exact ties keep the order of the candidates."""
        scores = self.scores(candidates.stages)  # (C,)
        order = np.argsort(-scores, kind="stable")
        return Ranked(
            [candidates.ids[row] for row in order],
            {name: values[order] for name, values in candidates.stages.items()},
            scores[order],
            {name: self.weight(name) for name in candidates.stages},
        )


def scores_of_each(fusions: Sequence[Fusion], stages: Mapping[str, np.ndarray]) -> np.ndarray:
    """The scores (F, C) by each fusion; every stage is normalised once."""
    normalised = cache(lambda name, how: normalise(stages[name], how))
    return np.array([fusion.scores(stages, normalised) for fusion in fusions])
