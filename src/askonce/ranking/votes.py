"""How much votes and the accepted mark add to the score of an answer: fit it, use it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from askonce.types import Post

MIN_QUESTIONS = 10  # to learn from


@dataclass(frozen=True)
class VoteWeights:
    """Votes and the accepted mark in units of the fused score, fitted on the archive's answers."""

    votes: float  # per doubling of votes
    accepted: float

    def bonus(self, score: int | None, accepted: bool) -> float:
        """The bonus for these votes; negative for an answer with more votes against it."""
        return self.votes * doublings(score) + (self.accepted if accepted else 0.0)


def doublings(score: int | None) -> float:
    """log2(1 + votes), so that each doubling counts the same; negative for votes against."""
    votes = score or 0
    return math.copysign(math.log2(1 + abs(votes)), votes)


@dataclass(frozen=True, eq=False)
class VotedList:
    """The candidates of a question: their scores, their votes, and which are right."""

    scores: np.ndarray  # (C,)
    doublings: np.ndarray  # (C,), of votes
    right: np.ndarray  # (C,) bool


def fit_votes(answers: Iterable[Sequence[Post]], lists: Iterable[VotedList]) -> VoteWeights | None:
    """Fit the weights on ranked lists and on the answers of each question of the archive.

    A conditional logistic regression within the questions of dev measures how much a doubling of
    votes says about which candidate is right, beside its score. Right answers are the accepted
    ones, so that mark would say everything; it is worth as many doublings as accepted answers are
    ahead of the other answers to their question. None where there are too few votes.
    """
    mixed = [one for one in lists if one.right.any() and not one.right.all()]
    leads = [lead for given in answers if (lead := _lead(given)) is not None]
    if len(mixed) < MIN_QUESTIONS or len(leads) < MIN_QUESTIONS:
        return None
    of_score, of_votes = conditional_slopes(mixed)
    if of_score <= 0:
        return None
    votes = float(of_votes / of_score)
    return VoteWeights(votes=votes, accepted=votes * max(0.0, float(np.mean(leads))))


def conditional_slopes(lists: Sequence[VotedList], ridge: float = 1.0) -> np.ndarray:
    """The slopes (2,) of the log-odds of being right by score and by votes; never below 0."""
    from scipy.optimize import minimize
    from scipy.special import logsumexp, softmax

    values = np.stack(
        [
            _padded([one.scores for one in lists], 0.0),
            _padded([one.doublings for one in lists], 0.0),
        ]
    )  # (2, Q, C)
    mask = _padded([np.zeros(len(one.scores)) for one in lists], -np.inf)  # (Q, C)
    right = _padded([np.where(one.right, 0.0, -np.inf) for one in lists], -np.inf)  # (Q, C)
    scale = values[:, np.isfinite(mask)].std(axis=1) + 1e-12  # (2,)
    values = values / scale[:, None, None]

    def loss(slopes: np.ndarray) -> tuple[float, np.ndarray]:
        logits = np.tensordot(slopes, values, 1)  # (Q, C)
        total = logsumexp(logits + mask, axis=1) - logsumexp(logits + right, axis=1)  # (Q,)
        residual = softmax(logits + mask, axis=1) - softmax(logits + right, axis=1)  # (Q, C)
        gradient = (values * residual).sum((1, 2)) + ridge * slopes
        return float(total.sum() + ridge / 2 * slopes @ slopes), gradient

    bounds = [(0, None)] * 2
    return minimize(loss, np.zeros(2), jac=True, bounds=bounds, method="L-BFGS-B").x / scale


def _padded(rows: Sequence[np.ndarray], filler: float) -> np.ndarray:
    table = np.full((len(rows), max(map(len, rows))), filler)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table


def _lead(answers: Sequence[Post]) -> float | None:
    """How many doublings the accepted answer is ahead of the others; None without both."""
    voted = [answer for answer in answers if answer.score is not None]
    votes = np.array([doublings(answer.score) for answer in voted])
    accepted = np.array([answer.accepted for answer in voted], dtype=bool)
    if not accepted.any() or accepted.all():
        return None
    return float(votes[accepted].mean() - votes[~accepted].mean())
