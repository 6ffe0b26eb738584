"""The teacher beside the labels: what a student learns from it while it is tuned."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from askonce.models.base import Side, States
from askonce.teachers.teacher import Teacher
from askonce.text.batch import TokenIds
from askonce.text.lexicon import Lexicon
from askonce.training.batches import GroupBatch
from askonce.training.distillation.pair_teacher import PairTeacher
from askonce.training.distillation.settings import PairDistilSettings
from askonce.training.distillation.texts import read_beside
from askonce.training.events import OnEvent, Reading, ignore
from askonce.training.sampling import Group
from askonce.types import Post

Bending = Callable[[Tensor, Side], Tensor]  # the teacher's vectors (B, D) as an adapter has them


def as_they_are(vectors: Tensor, side: Side) -> Tensor:
    """For a teacher without an adapter."""
    return vectors


@dataclass(frozen=True)
class BesideTeacher:
    """Losses of groups towards a teacher's scores and vectors, which keep a student in its space.

    ``scale`` multiplies cosines, as the recipe's does for the labels.
    """

    teacher: Teacher
    kl: float  # weights of the two losses
    cosine: float
    scale: float = 1.0
    bend: Bending = as_they_are

    @property
    def identity(self) -> Sequence[Any]:
        return self.teacher.name, self.kl, self.cosine

    def numbers(self, lexicon: Lexicon, posts: Sequence[Post]) -> list[TokenIds]:
        """Posts with the teacher's vectors of them."""
        return read_beside(lexicon, self.teacher, posts)

    def read(self, groups: Sequence[Group]) -> None:
        """Nothing: the collator reads each post once."""

    def losses(
        self, states: tuple[States, States], scores: Tensor, batch: GroupBatch, own: Sequence[Group]
    ) -> Tensor:
        vectors = (
            self.bend(batch.queries.vectors, "query"),  # (Q, D)
            self.bend(batch.candidates.vectors, "candidate"),  # (N, D)
        )
        pairs = batch.query_of, batch.candidate_of
        target = batch.as_table((vectors[0] @ vectors[1].T)[pairs]) * self.scale  # (G, C)
        near = [
            F.cosine_similarity(side["vector"], wanted)[rows]  # (P,)
            for side, wanted, rows in zip(states, vectors, pairs, strict=True)
        ]
        away = batch.as_table(2 - near[0] - near[1]).sum(1) / batch.mask.sum(1)  # (G,)
        return self.kl * kl(target, scores, batch.mask) + self.cosine * away


@dataclass(frozen=True)
class BesidePairTeacher:
    """Losses of groups towards a cross-encoder's scores."""

    teacher: PairTeacher
    config: PairDistilSettings
    on_event: OnEvent = ignore
    _scores: dict[tuple[str, str], float] = field(default_factory=dict)  # by ids

    @property
    def identity(self) -> Sequence[Any]:
        config = self.config
        return self.teacher.name, config.loss, config.weight, config.mined

    def numbers(self, lexicon: Lexicon, posts: Sequence[Post]) -> list[TokenIds]:
        return lexicon.read(posts)

    def read(self, groups: Sequence[Group]) -> None:
        """Score the pairs that no earlier epoch had."""
        pairs = {
            (group.query.id, post.id): (group.query.text, post.text)
            for group in groups
            for post in group.candidates
            if (group.query.id, post.id) not in self._scores
        }
        scores = self.teacher.score(
            list(pairs.values()), lambda done, total: self.on_event(Reading(done, total))
        )
        self._scores.update(zip(pairs, scores.tolist(), strict=True))

    def losses(
        self, states: tuple[States, States], scores: Tensor, batch: GroupBatch, own: Sequence[Group]
    ) -> Tensor:
        targets = [self._scores[g.query.id, post.id] for g in own for post in g.candidates]  # (P,)
        target = batch.as_table(torch.tensor(targets).to(scores))  # (G, C)
        loss = kl if self.config.loss == "kl" else margin
        return self.config.weight * loss(target, scores, batch.mask)


def kl(target: Tensor, scores: Tensor, mask: Tensor) -> Tensor:
    """KL of the softmax over the group of the scores (G, C) from that of the target."""
    log_p, log_q = (
        part.masked_fill(~mask, -1e9).log_softmax(1).masked_fill(~mask, 0)
        for part in (target, scores)
    )  # (G, C); 0 outside the mask
    return (log_p.exp() * (log_p - log_q)).sum(1)  # (G,)


def margin(target: Tensor, scores: Tensor, mask: Tensor) -> Tensor:
    """Margin MSE: of (sᵢ - sⱼ) to (tᵢ - tⱼ), mean over all pairs of a group = 2 Var(s - t)."""
    count = mask.sum(1, keepdim=True)  # (G, 1)
    error = (scores - target).masked_fill(~mask, 0)  # (G, C)
    centred = (error - error.sum(1, keepdim=True) / count).masked_fill(~mask, 0)
    return 2 * centred.square().sum(1) / count.squeeze(1)  # (G,)
