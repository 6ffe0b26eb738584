"""Compare-aggregate: compare word by word, then aggregate with filters (Wang & Jiang, ICLR 2017).

Each word of the candidate attends to the query's words and is multiplied with the result; filters
of several widths run over the products. CABIN's tables call the model CAM. The sizes are those of
the authors' code for WikiQA.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights
from askonce.models.layers.convolution import WindowConvolution
from askonce.models.layers.functional import masked_mean, masked_softmax, safe_norm
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import Batch, View


@MODELS.add("compare-aggregate", "cam")
class CompareAggregate(PairMatcher):
    """Candidate words times the query words they attend to, aggregated by filters."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """The model with element-wise multiplication, the best on WikiQA."""

        dim: int = 150  # of projected words, of the filters of each width and of the last layer
        widest: int = 5  # filters read windows of 1 to this many words
        dropout: float = 0.04  # on word vectors

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        dim = config.dim
        self.dropout = nn.Dropout(config.dropout)
        self.projection = nn.Linear(self.input_dim, 2 * dim)  # gate, then value
        self.filters = nn.ModuleList(
            WindowConvolution(dim, dim, width, "same", bias=True)
            for width in range(1, config.widest + 1)
        )
        self.hidden = nn.Linear(config.widest * dim, dim)
        self.output = nn.Linear(dim + self.feature_dim, 1)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """Gated projection of each word, zero on padding."""
        gate, value = self.projection(self.dropout(vectors)).chunk(2, dim=-1)  # (B, T, D) each
        projected = gate.sigmoid() * value.tanh()  # (B, T, D), eq. 1
        return States(view, {"words": projected * view.mask.unsqueeze(-1)})

    def attend(self, query: States, candidate: States) -> tuple[Tensor, Tensor]:
        """Attention (B, Ta, Tq) of each candidate word to the query, and its result (B, Ta, D).

        A zero vector beside the query's words takes the attention of a word that matches none, so
        the weights of a word sum to less than one. As in the authors' code, they are plain
        products, without the matrix of eq. 2.
        """
        words, padded = candidate["words"], F.pad(query["words"], (0, 0, 1, 0))  # (B, 1+Tq, D)
        real = F.pad(query.view.mask, (1, 0), value=True).unsqueeze(1)  # (B, 1, 1+Tq)
        weights = masked_softmax(torch.bmm(words, padded.mT), real)  # (B, Ta, 1+Tq)
        return weights[..., 1:], torch.bmm(weights, padded)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        """Maximum of each filter over the comparisons, then two layers."""
        compared = candidate["words"] * self.attend(query, candidate)[1]  # (B, Ta, D)
        mask = candidate.view.mask
        widths = cast(Iterable[WindowConvolution], self.filters)
        maxima = [filters.max_pool(compared, mask) for filters in widths]  # (B, D) each
        hidden = self.hidden(torch.cat(maxima, dim=-1).relu()).tanh()  # (B, D)
        return self.output(torch.cat([hidden, features], dim=-1)).squeeze(-1)  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """Mean attention that each query word gets; strength of each candidate word's match."""
        sides = self.complete(self.read(query, "query"), self.read(candidate, "candidate"))
        weights, attended = self.attend(*sides)
        strength = safe_norm(sides[1]["words"] * attended)  # (B, Ta)
        attention = masked_mean(weights, sides[1].view.mask)  # (B, Tq)
        return [
            WordWeights("attention", "query", "text", attention),
            WordWeights("strength of match", "candidate", "text", strength),
        ]

    def word_pairs(self, query: Batch, candidate: Batch) -> Tensor:
        """The attention of each candidate word to each query word, 0 to 1."""
        sides = self.complete(self.read(query, "query"), self.read(candidate, "candidate"))
        return self.attend(*sides)[0].mT  # (B, Tq, Ta)
