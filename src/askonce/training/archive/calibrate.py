"""Fit the probability of a duplicate and the weight of votes on what dev shows."""

from collections.abc import Mapping
from itertools import chain

import numpy as np

from askonce.archive import Snapshot
from askonce.data.benchmarks.pools import stable_hash
from askonce.ranking.calibration import (
    Calibration,
    Evidence,
    ShownList,
    fit_calibration,
    gather_evidence,
    judge_calibration,
)
from askonce.ranking.votes import VotedList, VoteWeights, doublings, fit_votes
from askonce.training.archive.held_out import HeldOut
from askonce.training.archive.labels import LabelledQuery
from askonce.training.archive.pools import ArchiveTask
from askonce.training.archive.priors import prior
from askonce.training.archive.selection import Selected, Splits

MIN_MARKS = 50  # fewer would fit chance
UNMARKED = 500  # questions without a duplicate that are used as evidence


def calibrate(
    task: ArchiveTask, splits: Splits, selected: Selected
) -> tuple[Calibration | None, Mapping[str, float] | None]:
    """The calibration fitted on dev, and how good it is on test; None for answers.

    With few marks it is the prior, which was fitted on the built-in archive.
    """
    if task.labels == "answers":
        return None, None
    calibration = prior(selected.encoder.teacher if selected.encoder else None)
    if task.labels != "duplicates":
        return calibration, None
    dev, test = (_evidence(task, splits[name], name, selected) for name in ("dev", "test"))
    if dev is not None and _marks(task) >= MIN_MARKS:
        calibration = fit_calibration(dev)
    return calibration, judge_calibration(calibration, test) if test is not None else None


def _marks(task: ArchiveTask) -> int:
    """How many questions are marked as duplicates."""
    return sum(bool(query.right) for asked in task.asked.values() for query in asked)


def asked_sample(task: ArchiveTask, split: str) -> list[LabelledQuery]:
    """The new questions of a split that are used as evidence: all marked ones, some unmarked."""
    asked = task.asked.get(split, ())
    others = [query for query in asked if not query.right]
    sample = sorted(others, key=lambda query: stable_hash(query.query.id))[:UNMARKED]
    return [*(query for query in asked if query.right), *sample]


def _evidence(
    task: ArchiveTask, held_out: HeldOut, split: str, selected: Selected
) -> Evidence | None:
    """What is shown for the new questions of a split, marked and unmarked as in the archive."""
    queries = asked_sample(task, split)
    marked = [query for query in queries if query.right]
    sample = [query for query in queries if not query.right]
    everything = list(chain.from_iterable(task.asked.values()))
    all_marked = sum(bool(query.right) for query in everything)
    # as many unmarked to one marked as in the whole archive: a split has more of the marked ones,
    # since a cluster belongs to the split of its newest question
    times = 1.0
    if sample and marked:
        times = len(marked) * (len(everything) - all_marked) / (len(sample) * all_marked)
    lists = [
        ShownList(query.query.text, ranked, query.right_ids, 1.0 if query.right else times)
        for query, ranked in zip(
            queries, held_out.rank(selected.pipeline(held_out), queries), strict=True
        )
    ]
    return gather_evidence(lists, held_out.by_id, held_out.lexical.terms)


def weigh_votes(
    archive: Snapshot, task: ArchiveTask, dev: HeldOut, selected: Selected
) -> VoteWeights | None:
    """How much votes add to the score of an answer; None for questions."""
    if task.labels != "answers":
        return None
    lists = []
    for query, ranked in zip(dev.queries, selected.served.rankings["dev"], strict=True):
        # where votes say which answer is right, they would say everything
        if all(post.accepted for post in query.right):
            votes = np.array([doublings(dev.by_id[name].score) for name in ranked.ids])
            same = np.array([name in query.right_ids for name in ranked.ids], dtype=bool)
            lists.append(VotedList(ranked.scores, votes, same))
    return fit_votes((archive.answers_to(name) for name in archive.questions), lists)
