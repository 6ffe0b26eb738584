"""BiMPM: each word's state matched with the partner text in four ways (Wang et al., IJCAI 2017).

Every way compares under several perspectives, the rows W_k of a matrix: cos(W_k ∘ x, W_k ∘ y). The
paper's characters are left out: words alone are read, as by the other models.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights, of_both
from askonce.models.layers.functional import direction_ends, safe_norm
from askonce.models.layers.interaction import LogOdds
from askonce.models.layers.recurrent import BiLSTM
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import Batch, View


def word_cosines(own: Tensor, partner: Tensor) -> Tensor:
    """Cosine of each two words (B, T, S)."""
    return own @ partner.mT / (safe_norm(own).unsqueeze(2) * safe_norm(partner).unsqueeze(1) + 1e-8)


class Perspectives(nn.Module):
    """cos(W_k ∘ x, W_k ∘ y) for l rows W_k."""

    def __init__(self, dim: int, perspectives: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(perspectives, dim))

    def norms(self, vectors: Tensor) -> Tensor:
        """‖W_k ∘ x‖ (..., l)."""
        squares = (vectors * vectors) @ (self.weight * self.weight).mT
        return squares.clamp_min(1e-24).sqrt()

    def forward(self, own: Tensor, partner: Tensor) -> Tensor:
        """One partner vector for each word: (B, T, H) and (B, T or 1, H) give (B, T, l)."""
        products = (own * partner) @ (self.weight * self.weight).mT  # (B, T, l)
        return products / (self.norms(own) * self.norms(partner) + 1e-8)

    def pairs(self, own: Tensor, partner: Tensor) -> Tensor:
        """All pairs of words: (B, T, H) and (B, S, H) give (B, l, T, S)."""
        scaled = own.unsqueeze(1) * (self.weight * self.weight)[:, None]  # (B, l, T, H)
        products = scaled @ partner.unsqueeze(1).mT  # (B, l, T, S)
        norms = self.norms(own).mT.unsqueeze(3) * self.norms(partner).mT.unsqueeze(2)
        return products / (norms + 1e-8)


class DirectionMatching(nn.Module):
    """The four ways to match the states of one direction."""

    def __init__(self, dim: int, perspectives: int) -> None:
        super().__init__()
        self.full, self.best, self.attentive, self.nearest = (
            Perspectives(dim, perspectives) for _ in range(4)
        )

    def forward(self, own: Tensor, partner: Tensor, end: Tensor, mask: Tensor) -> Iterator[Tensor]:
        """Matches (B, T, l) by each way, given the partner's states, their end and their mask."""
        yield self.full(own, end.unsqueeze(1))  # with where the partner ends
        absent = ~mask.unsqueeze(1)  # (B, 1, S)
        pairs = self.best.pairs(own, partner).masked_fill(absent.unsqueeze(1), -torch.inf)
        yield pairs.amax(3).mT  # the best of all words under each perspective
        cosines = word_cosines(own, partner)  # (B, T, S)
        # the printed mean divides by Σ α, which a cosine sees only as a sign
        yield self.attentive(own, cosines.masked_fill(absent, 0) @ partner)
        nearest = cosines.masked_fill(absent, -torch.inf).argmax(2)  # (B, T)
        chosen = partner.gather(1, nearest.unsqueeze(2).expand(-1, -1, partner.shape[2]))
        yield self.nearest(own, chosen)


@MODELS.add("bimpm")
class BiMPM(PairMatcher):
    """Multi-perspective matching of LSTM states both ways, aggregated by a second LSTM."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """The paper's sizes."""

        hidden: int = 100  # H per direction, of both LSTMs
        perspectives: int = 20  # l
        dropout: float = 0.1  # on the inputs of each layer

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        hidden, perspectives = config.hidden, config.perspectives
        self.dropout = nn.Dropout(config.dropout)
        self.context = BiLSTM(self.input_dim, hidden)
        self.forwards = DirectionMatching(hidden, perspectives)
        self.backwards = DirectionMatching(hidden, perspectives)
        self.aggregation = BiLSTM(8 * perspectives, hidden)
        self.odds = LogOdds([4 * hidden + self.feature_dim, 2 * hidden], config.dropout)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        states = self.context(self.dropout(vectors), view.lengths)  # (B, T, 2H)
        forwards, backwards = direction_ends(states, view.lengths).chunk(2, dim=-1)  # (B, H) each
        return States(view, {"states": states}, {"forwards": forwards, "backwards": backwards})

    def aggregated(self, own: States, partner: States) -> Tensor:
        """All matches of one text's words, read by the second LSTM to its ends (B, 2H)."""
        mask = partner.view.mask
        forwards, backwards = own["states"].chunk(2, dim=-1)  # (B, T, H) each
        to_forwards, to_backwards = partner["states"].chunk(2, dim=-1)
        matches = [
            *self.forwards(forwards, to_forwards, partner["forwards"], mask),
            *self.backwards(backwards, to_backwards, partner["backwards"], mask),
        ]
        read = self.aggregation(self.dropout(torch.cat(matches, dim=-1)), own.view.lengths)
        return direction_ends(read, own.view.lengths)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        asked, answered = self.aggregated(query, candidate), self.aggregated(candidate, query)
        return self.odds(asked, answered, features)  # (B,)

    def word_pairs(self, query: Batch, candidate: Batch) -> Tensor:
        """Mean cosine of both directions for each two words; -1 on padding."""
        sides = self.read_both(query, candidate)
        halves = zip(*(side["states"].chunk(2, dim=-1) for side in sides), strict=True)
        cosines = sum((word_cosines(own, partner) for own, partner in halves), torch.zeros(()))
        real = sides[0].view.mask.unsqueeze(2) & sides[1].view.mask.unsqueeze(1)
        return (cosines / 2).masked_fill(~real, -1)  # (B, Tq, Ta)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        pairs = self.word_pairs(query, candidate)  # (B, Tq, Ta)
        return of_both("best match", pairs.amax(2), pairs.amax(1))
