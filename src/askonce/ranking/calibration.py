"""From scores to the probability that a candidate is the same question."""

import math
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from askonce.text.stopwords import STOPWORDS
from askonce.text.tokenise import tokenise


@dataclass(frozen=True)
class Calibration:
    """A logistic regression on stage scores, fitted on dev."""

    intercept: float
    slopes: Mapping[str, float]  # of "bm25", "vectors", "pair" and "shared"

    def probability(self, scores: Mapping[str, float]) -> float:
        """The probability for one candidate; a score that is missing counts as 0."""
        logit = self.intercept + sum(w * scores.get(name, 0.0) for name, w in self.slopes.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def content_stems(text: str, terms: Callable[[str], list[str]]) -> frozenset[str]:
    """The stems of the words that carry meaning; ``terms`` gives the stem of each word."""
    pairs = zip(tokenise(text), terms(text), strict=True)
    return frozenset(stem for word, stem in pairs if word not in STOPWORDS)


def jaccard(query: Set[str], candidate: Set[str]) -> float:
    """The share of words that two texts have in common, of all that either has (Jaccard).

    As the score "shared" it is of their content stems.
    """
    union = len(query | candidate)
    return len(query & candidate) / union if union else 0.0
