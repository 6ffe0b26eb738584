"""IWAN: words aligned with the partner text and weighed by it (Shen, Yang & Deng, EMNLP 2017).

A re-implementation from descriptions, since no code of the authors is public. Of the paper's two
weightings this is inter-attention; both of its comparisons are used, direct and orthogonal.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights, of_both
from askonce.models.layers.functional import masked_mean, masked_softmax
from askonce.models.layers.interaction import LogOdds
from askonce.models.layers.recurrent import BiLSTM
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import Batch, View


def decompose(states: Tensor, aligned: Tensor) -> tuple[Tensor, Tensor]:
    """The parts of h along ĥ, (h·ĥ / ĥ·ĥ) ĥ, and orthogonal to it."""
    length = (aligned * aligned).sum(-1, keepdim=True)  # (B, T, 1)
    share = (states * aligned).sum(-1, keepdim=True) / (length + 1e-8)  # (B, T, 1)
    parallel = share * aligned  # (B, T, D)
    return parallel, states - parallel


@MODELS.add("iwan")
class IWAN(PairMatcher):
    """LSTM states compared with their alignment in the partner, under inter-attention weights."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        hidden: int = 100  # H per direction
        attention: int = 100  # size of W_1
        dense: int = 100
        dropout: float = 0.2  # on states and comparisons

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        dim = 2 * config.hidden
        self.lstm = BiLSTM(self.input_dim, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.of_word = nn.Linear(dim, config.attention, bias=False)  # left half of W_1
        self.of_partner = nn.Linear(dim, config.attention, bias=False)  # right half of W_1
        self.weight = nn.Linear(config.attention, 1, bias=False)  # w_2
        self.odds = LogOdds([8 * dim + self.feature_dim, config.dense], config.dropout)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        states = self.dropout(self.lstm(vectors, view.lengths))  # (B, T, D)
        mean = masked_mean(states, view.mask)  # (B, D)
        return States(
            view,
            {"states": states, "keys": self.of_word(states)},
            {"partner": self.of_partner(mean)},
        )

    def weights(self, own: States, partner: States) -> Tensor:
        """softmax_i w_2 · tanh(W_1 [h_i; mean of the partner's states]) (B, T)."""
        hidden = (own["keys"] + partner["partner"].unsqueeze(1)).tanh()  # (B, T, A)
        return masked_softmax(self.weight(hidden).squeeze(-1), own.view.mask)

    def compared(self, own: States, partner: States, pairs: Tensor) -> Tensor:
        """Weighted sum of the comparisons of all words with their alignments."""
        states = own["states"]  # (B, T, D)
        alignment = masked_softmax(pairs, partner.view.mask.unsqueeze(1))  # (B, T, S)
        aligned = alignment @ partner["states"]  # (B, T, D)
        direct = (states - aligned).abs(), states * aligned
        comparisons = torch.cat([*direct, *decompose(states, aligned)], dim=-1)  # (B, T, 4D)
        return torch.einsum("btd,bt->bd", comparisons, self.weights(own, partner))

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        pairs = query["states"] @ candidate["states"].mT  # (B, Tq, Ta)
        asked = self.compared(query, candidate, pairs)  # (B, 4D)
        answered = self.compared(candidate, query, pairs.mT)  # (B, 4D)
        return self.odds(asked, answered, features)  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        sides = self.read_both(query, candidate)
        return of_both("attention", self.weights(*sides), self.weights(*sides[::-1]))
