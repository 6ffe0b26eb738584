"""Metrics under ties: trec_eval's own order, the worst, the best, or the expectation.

trec_eval uses single precision, so two scores tie if they are equal as float32. All rules here do
the same, and give the same values where nothing ties.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from askonce.evaluation.trec_files import check_scores

TieRule = Literal["trec", "pessimistic", "optimistic", "expected"]
TIE_RULES: tuple[TieRule, ...] = get_args(TieRule)
Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True)
class Ranking:
    """One query's candidates, best score first, and the labels of all judged documents."""

    documents: list[str]
    scores: Floats  # (N,) float32, descending
    labels: Integers  # (N,) 0 where unjudged
    judged: Integers  # (J,) retrieved or not

    @classmethod
    def of(cls, query: str, scores: Mapping[str, float], judged: Mapping[str, int]) -> "Ranking":
        """Sort the candidates by score; ties keep the order of the run."""
        check_scores(query, scores)
        documents = list(scores)
        single = np.array([scores[document] for document in documents], dtype=np.float32)
        order = np.argsort(-single, kind="stable")
        documents = [documents[n] for n in order]
        labels = np.array([judged.get(document, 0) for document in documents])
        return cls(documents, single[order], labels, np.array(list(judged.values())))

    def settled(self, rule: TieRule) -> dict[str, float]:
        """Scores for trec_eval: unchanged, or with ties broken, relevant ones last or first."""
        if rule == "trec":
            return dict(zip(self.documents, self.scores.tolist(), strict=True))
        sign = 1 if rule == "pessimistic" else -1
        order = np.lexsort((sign * self.labels, -self.scores))
        return {self.documents[n]: -float(rank) for rank, n in enumerate(order)}

    def tied_positives(self) -> int:
        if not (self.scores[1:] == self.scores[:-1]).any():
            return 0
        relevant = self.labels > 0
        return int(np.isin(self.scores[relevant], self.scores[~relevant]).sum())


def expected_values(ranking: Ranking) -> dict[str, float]:
    """The mean of each metric over all orders of ties, in closed form (McSherry & Najork 2008)."""
    groups = _Groups.of(ranking)
    return {
        "MAP": _average_precision(groups, int((ranking.judged > 0).sum())),
        "MRR": _reciprocal_rank(groups),
        "P@1": _precision(groups, 1),
        "P@5": _precision(groups, 5),
        "nDCG@10": _ndcg(groups, ranking.judged, 10),
    }


@dataclass(frozen=True)
class _Groups:
    """Groups of equal scores, best first; all arrays have one entry per group."""

    size: Integers
    relevant: Integers
    gain: Integers  # sum of positive labels
    before: Integers  # candidates in better groups
    relevant_before: Integers

    @classmethod
    def of(cls, ranking: Ranking) -> "_Groups":
        scores, labels = ranking.scores, ranking.labels
        start = np.flatnonzero(np.r_[True, scores[1:] != scores[:-1]])  # (G,)
        relevant = np.add.reduceat((labels > 0).astype(np.int64), start)
        return cls(
            size=np.diff(start, append=len(scores)),
            relevant=relevant,
            gain=np.add.reduceat(np.maximum(labels, 0), start),
            before=start,
            relevant_before=np.cumsum(relevant) - relevant,
        )


def _average_precision(groups: _Groups, total: int) -> float:
    """Sum over ranks of P(relevant here) · E[relevant so far | relevant here] / rank, by total."""
    if not groups.relevant.any():
        return 0.0
    size, relevant, before, relevant_before = (
        np.repeat(values, groups.size)
        for values in (groups.size, groups.relevant, groups.before, groups.relevant_before)
    )  # (N,) each
    rank = np.arange(1, len(size) + 1)
    # The other relevant - 1 of the group are spread evenly over its size - 1 other ranks.
    above = (rank - before - 1) * (relevant - 1) / np.maximum(size - 1, 1)
    return float((relevant / size * (relevant_before + 1 + above) / rank).sum() / total)


def _reciprocal_rank(groups: _Groups) -> float:
    """Mean of 1 / rank of the first relevant, in the first group that has one."""
    with_relevant = np.flatnonzero(groups.relevant)
    if not len(with_relevant):
        return 0.0
    first = with_relevant[0]
    size, relevant, before = groups.size[first], groups.relevant[first], groups.before[first]
    above = np.arange(size - relevant + 1)  # irrelevant ones of the group above the first relevant
    left = size - above  # candidates of the group that are not ranked yet
    none_so_far = np.r_[1.0, np.cumprod((left - relevant) / left)[:-1]]  # probability
    return float((none_so_far * relevant / left / (before + above + 1)).sum())


def _precision(groups: _Groups, cutoff: int) -> float:
    inside = np.clip(cutoff - groups.before, 0, groups.size)
    return float((groups.relevant * inside / groups.size).sum() / cutoff)


def _ndcg(groups: _Groups, judged: Integers, cutoff: int) -> float:
    """Each rank of a group has the group's mean gain; trec_eval's gain is the label itself."""
    discount = 1 / np.log2(np.arange(2, cutoff + 2))  # (K,)
    ideal = np.sort(np.maximum(judged, 0))[::-1][:cutoff]
    best = (ideal * discount[: len(ideal)]).sum()
    gain = np.repeat(groups.gain / groups.size, groups.size)[:cutoff]
    return float((gain * discount[: len(gain)]).sum() / best) if best else 0.0
