"""Fit how much votes and the accepted mark may add to the score of an answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from askonce.archive import Snapshot
from askonce.ranking.votes import VoteWeights, doublings
from askonce.types import Post

LEAST = 10  # questions to learn from


@dataclass(frozen=True, eq=False)
class Ranking:
    """The candidates of a question: what they scored, their votes, and which are right."""

    scores: np.ndarray  # (C,)
    doublings: np.ndarray  # (C,), of votes
    right: np.ndarray  # (C,) bool

    @classmethod
    def of(cls, candidates: Sequence[Post], labels: Sequence[int], scores: np.ndarray) -> "Ranking":
        """The ranking of a pool."""
        votes = np.array([doublings(post.score) for post in candidates])
        return cls(scores, votes, np.array(labels) > 0)


def fit_votes(archive: Snapshot, rankings: Iterable[Ranking]) -> VoteWeights | None:
    """Votes in units of the score, and the accepted mark in the votes that go with it.

    A conditional logistic regression within the questions of dev says how much a doubling of votes
    tells of which candidate is right, beside what its score tells. Right answers are the accepted
    ones, so that mark would tell all; it is worth as many doublings as accepted answers have more
    than the others of their question. None where votes are too few to say.
    """
    known = [one for one in rankings if one.right.any() and not one.right.all()]
    leads = [
        lead for name in archive.questions if (lead := _lead(archive.answers_to(name))) is not None
    ]
    if len(known) < LEAST or len(leads) < LEAST:
        return None
    of_score, of_votes = conditional_slopes(known)
    if of_score <= 0:
        return None
    votes = float(of_votes / of_score)
    return VoteWeights(votes=votes, accepted=votes * max(0.0, float(np.mean(leads))))


def conditional_slopes(rankings: Sequence[Ranking], ridge: float = 1.0) -> np.ndarray:
    """How steeply the log-odds of being right rise with the score and with votes; never below 0."""
    values = np.stack(
        [
            _padded([one.scores for one in rankings], 0.0),
            _padded([one.doublings for one in rankings], 0.0),
        ]
    )  # (2, Q, C)
    there = _padded([np.zeros(len(one.scores)) for one in rankings], -np.inf)  # (Q, C)
    right = _padded([np.where(one.right, 0.0, -np.inf) for one in rankings], -np.inf)  # (Q, C)
    scale = values[:, np.isfinite(there)].std(axis=1) + 1e-12  # (2,)
    values = values / scale[:, None, None]

    def loss(steepness: np.ndarray) -> tuple[float, np.ndarray]:
        logits = np.tensordot(steepness, values, 1)  # (Q, C)
        total = logsumexp(logits + there, axis=1) - logsumexp(logits + right, axis=1)  # (Q,)
        apart = softmax(logits + there, axis=1) - softmax(logits + right, axis=1)  # (Q, C)
        slope = (values * apart).sum((1, 2)) + ridge * steepness
        return float(total.sum() + ridge / 2 * steepness @ steepness), slope

    bounds = [(0, None)] * 2
    return minimize(loss, np.zeros(2), jac=True, bounds=bounds, method="L-BFGS-B").x / scale


def _padded(rows: Sequence[np.ndarray], filler: float) -> np.ndarray:
    """Rows of different lengths as one table."""
    table = np.full((len(rows), max(map(len, rows))), filler)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def _lead(answers: Sequence[Post]) -> float | None:
    """How many doublings the accepted answer is ahead of the others; None without both."""
    known = [answer for answer in answers if answer.score is not None]
    votes = np.array([doublings(answer.score) for answer in known])
    accepted = np.array([answer.accepted for answer in known], dtype=bool)
    if not accepted.any() or accepted.all():
        return None
    return float(votes[accepted].mean() - votes[~accepted].mean())
