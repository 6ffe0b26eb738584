"""The probability that a candidate is the same question: fit it, judge it, use it."""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from askonce.index.base import Terms
from askonce.ranking.stages import PAIR, Ranked
from askonce.text.cache import TextCache
from askonce.text.stopwords import STOPWORDS
from askonce.text.tokenise import tokenise
from askonce.types import Post

SHARED = "shared"  # the overlap of content words, a score beside those of the stages
SHOWN = 10  # candidates of a question that a reader looks at
SAME_TITLE = 0.5  # the least probability of a question with the same title
COPY = 0.9  # unmarked candidates above this overlap are not used as negatives
BINS = 10
RIDGE = 0.1  # penalty on slopes
LINE_CHARACTERS = 2_000_000  # of titles and questions whose words are known, about 30 MB
CLAIMS_RIGHT = 0.5  # least share of claims that are right, where unmarked duplicates count as wrong
SURE = 0.8  # probability that at least so many are right, given how few questions dev has
RESAMPLED = 1000  # times that the questions of dev are weighted anew to find it
FALSE_CLAIMS = 0.05  # greatest share of questions without a marked duplicate that are claimed
ALWAYS_CLOSE = 0.95  # share of questions of the archive's kind that get results without a request
FLOORS = np.arange(5, 91) / 100  # the last serves where none is good enough


@dataclass(frozen=True)
class Calibration:
    """A logistic regression on stage scores, fitted on dev."""

    intercept: float
    slopes: Mapping[str, float]  # of "bm25", "vectors", "pair" and "shared"

    def applies_to(self, stages: Iterable[str]) -> bool:
        """Whether these stages are all that it was fitted on; without one it would be wrong."""
        fitted_on = {name for name, slope in self.slopes.items() if slope and name != SHARED}
        return fitted_on <= set(stages)

    def probability(self, scores: Mapping[str, float]) -> float:
        """The probability for one candidate; a missing score counts as 0."""
        logit = self.intercept + sum(w * scores.get(name, 0.0) for name, w in self.slopes.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def content_stems(text: str, terms: Terms) -> frozenset[str]:
    """The stems of the content words of a text."""
    return frozenset(stem for word, stem in terms.pairs(text) if word not in STOPWORDS)


def jaccard(query: Set[str], candidate: Set[str]) -> float:
    """The overlap of two sets of words: those in both, as a share of those in either."""
    union = len(query | candidate)
    return len(query & candidate) / union if union else 0.0


@dataclass(frozen=True)
class QueryWords:
    """The content words of a question, to compare with those of candidates."""

    text: str
    stems: frozenset[str]
    title: frozenset[str]  # the stems of the first line
    terms: Terms

    @classmethod
    def of(cls, text: str, terms: Terms) -> "QueryWords":
        stems, first = content_stems(text, terms), text.partition("\n")[0]
        title = content_stems(first, terms) if first != text else stems
        return cls(text, stems, title, terms)

    def overlap(self, post: Post) -> float:
        """The overlap with a post, or that of the titles if it is larger."""
        whole = jaccard(self.stems, content_stems(post.text, self.terms))
        if not (post.title and post.body):
            return whole
        return max(whole, jaccard(self.title, content_stems(post.title, self.terms)))

    def probability(
        self, calibration: Calibration, post: Post, scores: Mapping[str, float]
    ) -> float | None:
        """The probability that a post is the same question; None for stages it was not fitted on.

        A pair model's score is no part of it: suggestions while typing do not have one.
        """
        if not calibration.applies_to(scores):
            return None
        value = calibration.probability({**scores, SHARED: self.overlap(post)})
        return max(value, SAME_TITLE) if same_title(self.text, post.title) else value


def same_title(text: str, title: str) -> bool:
    """Whether the first line of a question is a post's title, but for case and punctuation."""
    words = _line_words(title)
    return bool(words) and words == _line_words(text.partition("\n")[0])


_line_words = TextCache(tokenise, LINE_CHARACTERS, longest=500)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Candidates with their raw scores, whether each is the same question, and its weight."""

    names: tuple[str, ...]
    scores: np.ndarray  # (N, F)
    same: np.ndarray  # (N,) 0 or 1
    weight: np.ndarray  # (N,)

    @property
    def prior(self) -> float:
        return float(np.average(self.same, weights=self.weight))


@dataclass(frozen=True, eq=False)
class ShownList:
    """What a reader sees for one question, and which of it is the same question."""

    query: str
    ranked: Ranked
    right: Set[str]
    weight: float = 1.0  # how many questions of the archive this one stands for


def gather_evidence(
    lists: Sequence[ShownList], posts: Mapping[str, Post], terms: Terms
) -> Evidence | None:
    """The first candidates of each list; None unless some are right and some are wrong."""
    # without the pair model, whose score suggestions while typing do not have
    stages = [name for name in lists[0].ranked.stages if name != PAIR] if lists else []
    rows, same, weights = [], [], []
    for shown in lists:
        query = QueryWords.of(shown.query, terms)
        for rank, post_id in enumerate(shown.ranked.ids[:SHOWN]):
            overlap = query.overlap(posts[post_id])
            right = post_id in shown.right
            if right or overlap < COPY:
                scores = shown.ranked.parts(rank)
                rows.append([*(scores[name] for name in stages), overlap])
                same.append(right)
                weights.append(shown.weight)
    if len(set(same)) < 2:
        return None
    names = (*stages, SHARED)
    return Evidence(names, np.array(rows), np.array(same, dtype=np.float64), np.array(weights))


def fit_calibration(evidence: Evidence) -> Calibration:
    """Logistic regression without negative slopes: no score lowers the probability.

    The intercept is not regularised, so the mean probability is the prior of the evidence.
    """
    from scipy.optimize import minimize

    mean = np.average(evidence.scores, axis=0, weights=evidence.weight)  # (F,)
    scale = evidence.scores.std(axis=0) + 1e-12  # (F,)
    inputs = (evidence.scores - mean) / scale  # (N, F)
    total = evidence.weight.sum()

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        logits = theta[0] + inputs @ theta[1:]  # (N,)
        each = np.logaddexp(0, logits) - evidence.same * logits
        residual = evidence.weight * (1 / (1 + np.exp(-logits)) - evidence.same)
        value = evidence.weight @ each + RIDGE / 2 * theta[1:] @ theta[1:]
        gradient = np.concatenate([[residual.sum()], residual @ inputs + RIDGE * theta[1:]])
        return value / total, gradient / total

    start = np.zeros(1 + len(evidence.names))
    start[0] = np.log(evidence.prior / (1 - evidence.prior))
    bounds = [(None, None), *[(0, None)] * len(evidence.names)]
    options = {"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-9}
    theta = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    slopes = theta[1:] / scale
    return Calibration(
        float(theta[0] - slopes @ mean),
        {name: float(slope) for name, slope in zip(evidence.names, slopes, strict=True)},
    )


def fit_floors(
    calibration: Calibration,
    lists: Sequence[ShownList],
    posts: Mapping[str, Post],
    terms: Terms,
    known_from: float = 0.0,
) -> tuple[float, float]:
    """The least probabilities at which a question is claimed to be the same, and is shown at all.

    The most probable candidates from there on are right in ``CLAIMS_RIGHT`` of all lists with such
    candidates, each by its weight, as ``_surely_right`` says, and at most ``FALSE_CLAIMS`` of the
    questions without a marked duplicate are claimed to have one. Both hold from the floor up to the
    highest one where they hold: the lowest of all would be a lucky one. Unmarked copies are left
    out: they may be duplicates. ``ALWAYS_CLOSE`` of the questions have a candidate that is shown.

    With few marks, ``known_from`` is the probability from which on claims are taken to be right;
    then only the questions without a mark count.
    """
    right, wrong = (np.zeros(len(lists)) for _ in range(2))  # (L,) the highest probabilities
    for row, shown in enumerate(lists):
        query = QueryWords.of(shown.query, terms)
        for rank, post_id in enumerate(shown.ranked.ids[:SHOWN]):
            best = right if post_id in shown.right else wrong
            if best is right or query.overlap(posts[post_id]) < COPY:
                parts = shown.ranked.parts(rank)
                probability = query.probability(calibration, posts[post_id], parts) or 0.0
                best[row] = max(best[row], probability)
    weight = np.array([shown.weight for shown in lists])  # (L,)
    unmarked = np.array([not shown.right for shown in lists])  # (L,)
    close = float(np.quantile(np.maximum(right, wrong), 1 - ALWAYS_CLOSE))
    floors = FLOORS[known_from <= FLOORS]  # (F,)
    claimed = np.maximum(right, wrong) >= floors[:, None]  # (F, L)
    good = (claimed & unmarked).sum(1) <= FALSE_CLAIMS * unmarked.sum()  # (F,)
    if known_from:
        return float(floors[good][0] if good.any() else floors[-1]), close
    good &= _surely_right(claimed, right >= wrong, weight, unmarked) >= CLAIMS_RIGHT
    if not good.any():
        return float(floors[-1]), close
    highest = np.flatnonzero(good)[-1]
    bad_below = np.flatnonzero(~good[:highest])
    return float(floors[bad_below[-1] + 1 if len(bad_below) else 0]), close


def _surely_right(
    claimed: np.ndarray, right: np.ndarray, weight: np.ndarray, unmarked: np.ndarray
) -> np.ndarray:
    """The share of right claims that is reached with the probability ``SURE``, at each floor (F,).

    By a Bayesian bootstrap over the questions (Rubin, 1981). It knows only what dev shows, and a
    few questions may show no false claim where each stands for many: half of one is added.
    """
    draws = np.random.default_rng(1)
    shares = weight * draws.exponential(size=(RESAMPLED, len(weight)))  # (R, L)
    one = weight[unmarked].mean() if unmarked.any() else 1.0
    unseen = one * draws.gamma(0.5, size=(RESAMPLED, 1))  # (R, 1)
    precision = shares @ (claimed & right).T / (shares @ claimed.T + unseen)  # (R, F)
    return np.asarray(np.quantile(precision, 1 - SURE, axis=0))


def judge_calibration(calibration: Calibration, evidence: Evidence) -> dict[str, float]:
    """Brier score, that of the prior alone, expected calibration error, and truth by bin.

    ``true at 0.3`` is the share that is right where the probability is 0.3 to 0.4.
    """
    named = (dict(zip(evidence.names, row, strict=True)) for row in evidence.scores.tolist())
    predicted = np.array([calibration.probability(scores) for scores in named])  # (N,)
    weight = evidence.weight / evidence.weight.sum()
    bins = np.minimum((predicted * BINS).astype(int), BINS - 1)  # (N,)
    error, by_bin = 0.0, {}
    for number in np.unique(bins).tolist():
        here = bins == number
        true = np.average(evidence.same[here], weights=weight[here])
        mean = np.average(predicted[here], weights=weight[here])
        error += weight[here].sum() * abs(true - mean)
        by_bin[f"true at {number / BINS:.1f}"] = float(true)
    return {
        "Brier": float(weight @ (predicted - evidence.same) ** 2),
        "Brier of the prior": evidence.prior * (1 - evidence.prior),
        "ECE": float(error),
        "prior": evidence.prior,
        **by_bin,
    }
