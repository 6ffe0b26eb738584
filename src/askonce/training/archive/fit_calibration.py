"""Fit and judge the probability that a candidate is the same question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from askonce.index.lexical import LexicalIndex
from askonce.ranking.calibration import Calibration, content_stems, jaccard
from askonce.training.archive.search import Found, best_places

SHOWN = 10  # candidates of a question that a reader looks at
COPY = 0.9  # of words shared: who asked that again unmarked is no evidence against
TENTHS = 10


@dataclass(frozen=True, eq=False)
class Evidence:
    """Candidates with their raw scores, whether each is the same question, and its weight."""

    names: tuple[str, ...]
    scores: np.ndarray  # (N, F)
    same: np.ndarray  # (N,) 0 or 1
    weight: np.ndarray  # (N,)

    @property
    def prior(self) -> float:
        """How probable it is of any candidate that is shown."""
        return float(np.average(self.same, weights=self.weight))


def gather(
    found: Sequence[Found],
    fused: Sequence[np.ndarray],
    weights: Sequence[float],
    index: LexicalIndex,
) -> Evidence | None:
    """What is shown for questions as they are asked; None where nothing is right or all is.

    ``weights`` say for how many questions of the archive each one stands.
    """
    # not by a pair model: while a question is being typed none is asked, and the same must hold
    stages = [name for name in found[0].scores if name != "pair"] if found else []
    rows, same, weight = [], [], []
    for one, score, times in zip(found, fused, weights, strict=True):
        query = content_stems(one.pool.query.text, index.terms)
        for place in best_places(score, SHOWN).tolist():
            candidate = content_stems(one.pool.candidates[place].text, index.terms)
            shared = jaccard(query, candidate)
            right = one.pool.labels[place] > 0
            if right or shared < COPY:
                rows.append([*(one.scores[name][place] for name in stages), shared])
                same.append(right)
                weight.append(times)
    if len(set(same)) < 2:
        return None
    names = (*stages, "shared")
    return Evidence(names, np.array(rows), np.array(same, dtype=np.float64), np.array(weight))


def fit(evidence: Evidence, ridge: float = 0.1) -> Calibration:
    """Logistic regression without negative slopes: no score may speak against a candidate.

    The intercept is not held down, so the mean probability is the prior of the evidence.
    """
    mean = np.average(evidence.scores, axis=0, weights=evidence.weight)  # (F,)
    scale = evidence.scores.std(axis=0) + 1e-12  # (F,)
    inputs = (evidence.scores - mean) / scale  # (N, F)
    total = evidence.weight.sum()

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        logits = theta[0] + inputs @ theta[1:]  # (N,)
        each = np.logaddexp(0, logits) - evidence.same * logits
        wrong = evidence.weight * (1 / (1 + np.exp(-logits)) - evidence.same)
        value = evidence.weight @ each + ridge / 2 * theta[1:] @ theta[1:]
        slope = np.concatenate([[wrong.sum()], wrong @ inputs + ridge * theta[1:]])
        return value / total, slope / total

    start = np.zeros(1 + len(evidence.names))
    start[0] = np.log(evidence.prior / (1 - evidence.prior))
    bounds = [(None, None), *[(0, None)] * len(evidence.names)]
    options = {"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-9}
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    slopes = found[1:] / scale
    return Calibration(
        float(found[0] - slopes @ mean),
        {name: float(slope) for name, slope in zip(evidence.names, slopes, strict=True)},
    )


def judge(calibration: Calibration, evidence: Evidence) -> dict[str, float]:
    """Brier score beside that of the prior alone, calibration error, and truth by tenth.

    ``true at 0.3`` is the share that is right where the probability was 0.3 to 0.4.
    """
    told = np.array([calibration.probability(row) for row in _named(evidence)])  # (N,)
    weight = evidence.weight / evidence.weight.sum()
    tenth = np.minimum((told * TENTHS).astype(int), TENTHS - 1)  # (N,)
    error, by_tenth = 0.0, {}
    for number in np.unique(tenth).tolist():
        here = tenth == number
        share = weight[here].sum()
        true = np.average(evidence.same[here], weights=weight[here])
        error += share * abs(true - np.average(told[here], weights=weight[here]))
        by_tenth[f"true at {number / TENTHS:.1f}"] = float(true)
    return {
        "Brier": float(weight @ (told - evidence.same) ** 2),
        "Brier of the prior": evidence.prior * (1 - evidence.prior),
        "ECE": float(error),
        "prior": evidence.prior,
        **by_tenth,
    }


def _named(evidence: Evidence) -> list[Mapping[str, float]]:
    return [dict(zip(evidence.names, row, strict=True)) for row in evidence.scores.tolist()]
