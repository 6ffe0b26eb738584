"""Fit the probability of a duplicate and the weight of votes on what dev shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from askonce.archive import Snapshot
from askonce.ranking.calibration import (
    SHARED,
    Calibration,
    Evidence,
    ShownList,
    fit_calibration,
    fit_floors,
    gather_evidence,
    judge_calibration,
)
from askonce.ranking.manifest import Serving
from askonce.ranking.stages import VECTORS
from askonce.ranking.votes import VotedList, VoteWeights, doublings, fit_votes
from askonce.teachers import MINILM
from askonce.training.archive.selection.compare import Selected, Splits
from askonce.training.archive.selection.held_out import HeldOut
from askonce.training.archive.tasks.pools import ArchiveTask

MIN_MARKS = 50  # fewer would fit chance
FLOOR, CLOSE = Serving().floor, Serving().close
# Where an archive has too few labels: fitted once, on the built-in archive, by ``fit_priors``.
# BM25's scores depend on the archive, and those of other encoders on their training: not used.
BY_WORDS = Calibration(-5.43, {SHARED: 13.62})
BY_MINILM = Calibration(-10.87, {VECTORS: 17.06, SHARED: 0.0})


@dataclass(frozen=True)
class Calibrated:
    """The probability of a duplicate, where one is claimed or shown, and the quality on test."""

    calibration: Calibration | None = None
    floor: float = FLOOR
    close: float = CLOSE
    quality: Mapping[str, float] | None = None

    def figures(self) -> dict[str, dict[str, Mapping[str, float]]]:
        return {"probability": {"test": self.quality}} if self.quality else {}


def calibrate(task: ArchiveTask, splits: Splits, selected: Selected) -> Calibrated:
    """The calibration and the floor fitted on dev, and how good they are on test.

    With few marks it is the prior, which was fitted on the built-in archive, and a question is
    claimed if it is more likely the same than not, or from a higher probability on if too many
    questions of the archive would be claimed: all are alike where it has one subject. Without a
    calibration where no score tells duplicates from other questions.
    """
    if task.labels == "answers":
        return Calibrated()
    calibration = prior(selected.encoder.teacher if selected.encoder else None)
    if task.labels != "duplicates":
        return Calibrated(calibration)
    dev, test = (_shown(task, splits[name], name, selected) for name in ("dev", "test"))
    floor, close, evidence = FLOOR, CLOSE, _evidence(dev, splits["dev"])
    marks = sum(bool(query.right) for asked in task.asked.values() for query in asked)
    if evidence is not None and marks >= MIN_MARKS:
        calibration = fit_calibration(evidence)
        if not any(calibration.slopes.values()):  # one probability for all would tell nothing
            return Calibrated()
        floor, close = _floors(calibration, dev, splits["dev"])
    elif dev:
        floor, _ = _floors(calibration, dev, splits["dev"], FLOOR)
    evidence = _evidence(test, splits["test"])
    quality = judge_calibration(calibration, evidence) if evidence is not None else None
    return Calibrated(calibration, floor, close, quality)


def prior(teacher: str | None) -> Calibration:
    """The probability of a duplicate, by the teacher whose space the encoder in service is in."""
    return BY_MINILM if teacher == MINILM else BY_WORDS


def _shown(task: ArchiveTask, held_out: HeldOut, split: str, selected: Selected) -> list[ShownList]:
    """What is shown for the new questions of a split, marked and unmarked as in the archive."""
    queries = task.asked_sample(split)
    marked = [query for query in queries if query.right]
    sample = [query for query in queries if not query.right]
    everything = list(chain.from_iterable(task.asked.values()))
    all_marked = sum(bool(query.right) for query in everything)
    # as many unmarked to one marked as in the whole archive: a split has more of the marked ones,
    # since a cluster belongs to the split of its newest question
    times = 1.0
    if sample and marked:
        times = len(marked) * (len(everything) - all_marked) / (len(sample) * all_marked)
    return [
        ShownList(
            query.query.text,
            ranked,
            query.right_ids,
            query.weight * (1.0 if query.right else times),
        )
        for query, ranked in zip(
            queries, held_out.rank(selected.pipeline(held_out), queries), strict=True
        )
    ]


def _floors(
    calibration: Calibration, shown: Sequence[ShownList], held_out: HeldOut, known_from: float = 0.0
) -> tuple[float, float]:
    return fit_floors(calibration, shown, held_out.by_id, held_out.lexical.terms, known_from)


def _evidence(shown: Sequence[ShownList], held_out: HeldOut) -> Evidence | None:
    return gather_evidence(shown, held_out.by_id, held_out.lexical.terms)


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
