"""AI-CNN: every two segments of two texts interact (Zhang, Li, Sha & Wang, AAAI 2017).

A convolution makes segments of words. Interactions of all pairs of segments are pooled by row and
by column to their greatest values, and attention joins those of each text into one vector. The
form of an interaction is ours, a tensor layer: the greatest value of a sum of two projections
would not depend on the pair. The sizes, ours too, come near the 140K parameters of HyperQA's table.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights, of_both
from askonce.models.layers.convolution import WindowConvolution
from askonce.models.layers.functional import masked_softmax
from askonce.models.layers.interaction import LogOdds, TensorLayer
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import Batch, View


class SegmentAttention(nn.Module):
    """Joins the pooled interactions of a text's segments: softmax_i u · tanh(W r_i)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(dim, dim, bias=False)  # W
        self.weight = nn.Linear(dim, 1, bias=False)  # u

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        return masked_softmax(self.weight(self.hidden(rows).tanh()).squeeze(-1), mask)


@MODELS.add("ai-cnn")
class AiCnn(PairMatcher):
    """Interactions of all pairs of segments, pooled and joined by attention.

    AI-CNN+F is ``overlap = true``.
    """

    @dataclass(frozen=True)
    class Config(PairConfig):
        filters: int = 100  # values of a segment
        width: int = 3  # words of a segment
        slices: int = 10  # K, values of an interaction
        dense: int = 64
        dropout: float = 0.2  # on segments, and before the dense layers

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.convolution = WindowConvolution(
            self.input_dim, config.filters, config.width, "same", bias=True
        )
        self.dropout = nn.Dropout(config.dropout)
        self.tensor = TensorLayer(config.filters, config.slices)
        self.of_query = SegmentAttention(config.slices)
        self.of_candidate = SegmentAttention(config.slices)
        self.odds = LogOdds([2 * config.slices + self.feature_dim, config.dense], config.dropout)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        segments = self.dropout(self.convolution(vectors).tanh())  # (B, T, C)
        return States(view, self.tensor.parts(segments, side))

    def interactions(self, query: States, candidate: States) -> tuple[Tensor, Tensor]:
        """The greatest interactions of each segment, (B, Tq, K) and (B, Ta, K)."""
        product = torch.einsum("bqkd,bad->bqak", query["keys"], candidate["vectors"])
        values = product + query["linear"].unsqueeze(2) + candidate["linear"].unsqueeze(1)
        real = query.view.mask.unsqueeze(2) & candidate.view.mask.unsqueeze(1)  # (B, Tq, Ta)
        values = values.masked_fill(~real.unsqueeze(-1), -torch.inf)
        return values.amax(2).tanh(), values.amax(1).tanh()  # tanh keeps the order

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        rows, columns = self.interactions(query, candidate)
        of_query = self.of_query(rows, query.view.mask)  # (B, Tq)
        of_candidate = self.of_candidate(columns, candidate.view.mask)  # (B, Ta)
        asked = torch.einsum("btk,bt->bk", rows, of_query)  # (B, K)
        answered = torch.einsum("btk,bt->bk", columns, of_candidate)  # (B, K)
        return self.odds(asked, answered, features)  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        sides = self.read_both(query, candidate)
        rows, columns = self.interactions(*sides)
        of_query = self.of_query(rows, sides[0].view.mask)
        of_candidate = self.of_candidate(columns, sides[1].view.mask)
        return of_both("attention", of_query, of_candidate)
