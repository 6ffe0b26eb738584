"""aNMM-1: weights are shared by the strength of a match (Yang et al., CIKM 2016).

The cosine of a question word with each answer word falls into one of K bins. Each bin has a weight;
their weighted sum is the value of the question word, and attention over question words gives the
score.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights
from askonce.models.layers.functional import masked_softmax, safe_norm
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import Batch, View


@MODELS.add("anmm", "anmm-1")
class ANMM(PairMatcher):
    """Matches of words weighted by their strength, summed by attention over question words."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """Bins of equal width from -1 to 1, and one more for the same word."""

        bins: int = 200  # K - 1; the authors tune it on dev

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.weights = nn.Parameter(torch.empty(config.bins + 1).uniform_(-0.1, 0.1))  # w
        self.gate = nn.Linear(self.input_dim, 1, bias=False)  # v
        # a mean of sigmoids lies between 0 and 1, so it gets a scale; 4 undoes a sigmoid's slope
        self.output = nn.Linear(1 + self.feature_dim, 1)
        with torch.no_grad():
            self.output.weight[:, 0] = 4.0

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """Word vectors of length one; for a query the attention over its words too."""
        units = vectors / (safe_norm(vectors) + 1e-8).unsqueeze(-1)  # (B, T, E)
        if side == "candidate":
            return States(view, {"units": units})
        attention = masked_softmax(self.gate(vectors).squeeze(-1), view.mask)  # (B, Tq)
        return States(view, {"units": units, "attention": attention})

    def word_values(self, query: States, candidate: States) -> Tensor:
        """h_j = δ(Σ_k w_k x_kj) of each question word (B, Tq), x_kj the sum of bin k's matches."""
        cosines = torch.bmm(query["units"], candidate["units"].mT)  # (B, Tq, Ta)
        bins = self.config.bins
        bin_index = ((cosines + 1) * (bins / 2)).long().clamp(0, bins - 1)
        same = query.view.codes.unsqueeze(2) == candidate.view.codes.unsqueeze(1)  # (B, Tq, Ta)
        same = same & query.view.real.unsqueeze(2)
        weights = F.embedding(bin_index.masked_fill(same, bins), self.weights.unsqueeze(1)).squeeze(
            -1
        )
        real = candidate.view.mask.unsqueeze(1)  # (B, 1, Ta)
        return (weights * cosines * real).sum(2).sigmoid()  # (B, Tq)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        """Σ_j g_j h_j, with g the attention, through the last layer."""
        value = (query["attention"] * self.word_values(query, candidate)).sum(1, keepdim=True)
        return self.output(torch.cat([value, features], dim=1)).squeeze(-1)  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        sides = self.read_both(query, candidate)
        return [
            WordWeights("attention", "query", sides[0]["attention"]),
            WordWeights("match", "query", self.word_values(*sides)),
        ]
