"""MV-LSTM: k-max pooling over the similarities of all pairs of words (Wan et al., AAAI 2016).

A bidirectional LSTM reads each word in its context, a tensor layer compares each pair of states,
and dense layers read the k greatest values of each slice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights, of_both
from askonce.models.layers.interaction import TensorLayer
from askonce.models.layers.recurrent import BiLSTM
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import Batch, View


@MODELS.add("mv-lstm")
class MvLstm(PairMatcher):
    """The k best matches among all pairs of LSTM states, then dense layers."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """Settings; slices and the size of the dense layer are our choice."""

        hidden: int = 50  # H per direction
        slices: int = 4  # c
        top: int = 5  # k
        dense: int = 50
        dropout: float = 0.2  # on words' states

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.lstm = BiLSTM(self.input_dim, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.tensor = TensorLayer(self.lstm.output_dim, config.slices)
        self.dense = nn.Linear(config.slices * config.top + self.feature_dim, config.dense)
        self.output = nn.Linear(config.dense, 1)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        states = self.dropout(self.lstm(vectors, view.lengths))  # (B, T, 2H)
        return States(view, self.tensor.parts(states, side))

    def matches(self, query: States, candidate: States) -> Tensor:
        """ReLU(uᵀ M^{[1:c]} v + V [u; v] + b) of each two words (B, c, Tq, Ta); 0 on padding."""
        product = torch.einsum("bqcd,bad->bcqa", query["keys"], candidate["vectors"])
        linear = query["linear"].mT.unsqueeze(3) + candidate["linear"].mT.unsqueeze(2)
        real = query.view.mask.unsqueeze(2) & candidate.view.mask.unsqueeze(1)  # (B, Tq, Ta)
        return (product + linear).relu() * real.unsqueeze(1)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        """Two layers over the k greatest matches of each slice; no match counts as zero."""
        matches = self.matches(query, candidate).flatten(2)  # (B, c, Tq · Ta)
        missing = max(self.config.top - matches.shape[2], 0)
        best = F.pad(matches, (0, missing)).topk(self.config.top, dim=2).values  # (B, c, k)
        joined = torch.cat([best.flatten(1), features], dim=1)  # (B, c · k + F)
        return self.output(self.dense(joined).relu()).squeeze(-1)  # (B,)

    def word_pairs(self, query: Batch, candidate: Batch) -> Tensor:
        """The greatest match of each two words in any slice."""
        sides = self.read_both(query, candidate)
        return self.matches(*sides).amax(1)  # (B, Tq, Ta)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        pairs = self.word_pairs(query, candidate)  # (B, Tq, Ta)
        return of_both("best match", pairs.amax(2), pairs.amax(1))
