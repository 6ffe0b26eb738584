"""The teacher beside the labels: what keeps a student in its space while it is tuned."""

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from askonce.models.base import States
from askonce.teachers.teacher import Teacher
from askonce.text.batch import TokenIds
from askonce.text.lexicon import Lexicon
from askonce.training.batches import GroupBatch
from askonce.training.distillation.texts import read_beside
from askonce.types import Post


@dataclass(frozen=True)
class BesideTeacher:
    """Losses of groups towards a teacher's scores and vectors."""

    teacher: Teacher
    kl: float  # weights of the two losses
    cosine: float

    def numbers(self, lexicon: Lexicon, post: Post) -> TokenIds:
        """A post with the teacher's vector of it."""
        return read_beside(lexicon, self.teacher, [post])[0]

    def losses(
        self, query: States, candidate: States, scores: Tensor, batch: GroupBatch, scale: float
    ) -> Tensor:
        """The loss of each group, of the states of its texts and of its scores (G, C)."""
        vectors = batch.queries.vectors, batch.candidates.vectors  # (Q, D), (N, D)
        pairs = batch.query_of, batch.candidate_of
        target = batch.spread((vectors[0] @ vectors[1].T)[pairs])  # (G, C)
        log_p, log_q = (_log_softmax(part * scale, batch.mask) for part in (target, scores))
        kl = (log_p.exp() * (log_p - log_q)).sum(1)  # (G,)
        near = [
            F.cosine_similarity(states["vector"], wanted)[rows]  # (P,)
            for states, wanted, rows in zip((query, candidate), vectors, pairs, strict=True)
        ]
        away = batch.spread(2 - near[0] - near[1]).sum(1) / batch.mask.sum(1)  # (G,)
        return self.kl * kl + self.cosine * away


def _log_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Over the group; 0 outside the mask."""
    return scores.masked_fill(~mask, -1e9).log_softmax(1).masked_fill(~mask, 0)
