"""MP-CNN and Rank MP-CNN: many filters, many poolings, many comparisons of two texts.

He, Gimpel & Lin (EMNLP 2015); Rao, He & Lin (CIKM 2016) rank with it. There are as many holistic
filters as a word vector has values, so that pooled words (width ∞) compare with pooled filters.
Windows may reach over both ends of the text, as in the later code of the authors' group.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States
from askonce.models.layers.convolution import PerDimensionFilters, WindowConvolution
from askonce.models.layers.functional import cosine, masked_max, masked_mean, safe_norm
from askonce.models.layers.words import Scaling
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import View


def masked_min(states: Tensor, mask: Tensor) -> Tensor:
    """Smallest value over the real words."""
    return -masked_max(-states, mask)  # (B, D)


SAMPLE = 256  # pairs on which the comparisons are scaled
Pooling = Callable[[Tensor, Tensor], Tensor]  # values (B, L, D) and mask (B, L) give (B, D)
POOLINGS: tuple[Pooling, ...] = (masked_max, masked_min, masked_mean)  # of holistic filters


def compared(a: Tensor, b: Tensor) -> Tensor:
    """comU2: cosine and Euclidean distance of vectors (..., D) as (..., 2)."""
    return torch.stack([cosine(a, b), safe_norm(a - b)], dim=-1)


def compared_fully(a: Tensor, b: Tensor) -> Tensor:
    """comU1: the same and the absolute difference of every value (..., 2 + D)."""
    return torch.cat([compared(a, b), (a - b).abs()], dim=-1)


class MultiPerspective(PairMatcher):
    """Two texts' pooled filters and all their comparisons, each brought to one scale.

    The scaling is ours. Comparisons are positive numbers that differ little from pair to pair, and
    there are thousands: unscaled, the first two steps of Adam at the public code's rate move every
    sum over them by more than a tanh can tell apart, and 97 % of the dense layer is saturated.
    """

    @dataclass(frozen=True)
    class Config(PairConfig):
        """The sizes of the paper and of the public code."""

        widths: int = 3  # windows of 1 to this many words, besides the whole text
        per_dimension: int = 20  # filters for each value of the word vectors

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        dim, widths = self.input_dim, range(1, config.widths + 1)
        self.holistic = nn.ModuleList(  # each pooling has filters of its own
            nn.ModuleList(WindowConvolution(dim, dim, width, "wide", True) for width in widths)
            for _ in POOLINGS
        )
        self.per_dimension = nn.ModuleList(
            nn.ModuleList(
                PerDimensionFilters(dim, config.per_dimension, width, smallest) for width in widths
            )
            for smallest in (False, True)
        )
        self.scaling = Scaling(self.joined_dim)

    @property
    def joined_dim(self) -> int:
        """Number of comparisons of two texts: 52,536 for word vectors of 300."""
        dim, widths = self.input_dim, self.config.widths
        horizontal = len(POOLINGS) * dim * 2
        vertical = len(POOLINGS) * (widths + 1) ** 2 * (dim + 2)
        single = len(self.per_dimension) * widths * self.config.per_dimension * (dim + 2)
        return horizontal + vertical + single

    def fit_inputs(self, query: View, candidate: View) -> None:
        super().fit_inputs(query, candidate)
        rows = torch.arange(0, len(query), max(1, len(query) // SAMPLE))
        with torch.no_grad():
            sides = self.complete(
                self.read_view(query.select(rows), "query"),
                self.read_view(candidate.select(rows), "candidate"),
            )
            self.scaling.fit_values(self.comparisons(*sides))

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """Pooled filters: holistic (B, 3, W+1, D) and per dimension (B, 2, W, F, D)."""
        holistic = [
            [
                *(
                    pool(filters(vectors).tanh(), filters.window_mask(view.mask))  # (B, D)
                    for filters in cast(Iterable[WindowConvolution], block)
                ),
                pool(vectors, view.mask),  # width ∞
            ]
            for pool, block in zip(POOLINGS, self.holistic, strict=True)
        ]
        single = [
            [filters(vectors, view.mask) for filters in cast(nn.ModuleList, block)]  # (B, F, D)
            for block in self.per_dimension
        ]
        return States(view, per_text={"holistic": stacked(holistic), "single": stacked(single)})

    def comparisons(self, query: States, candidate: States) -> Tensor:
        """All comparisons (B, joined_dim) as they are defined."""
        asked, answered = query["holistic"], candidate["holistic"]  # (B, 3, W+1, D)
        parts = [
            compared(asked.mT, answered.mT),  # (B, 3, D, 2): algorithm 1, over the widths
            compared_fully(asked.unsqueeze(3), answered.unsqueeze(2)),
            compared_fully(query["single"], candidate["single"]),  # (B, 2, W, F, D+2)
        ]  # the second: (B, 3, W+1, W+1, D+2), algorithm 2
        return torch.cat([part.flatten(1) for part in parts], dim=1)

    def joined(self, query: States, candidate: States, features: Tensor) -> Tensor:
        """All scaled comparisons, and the features (B, joined_dim + F)."""
        return torch.cat([self.scaling.scaled(self.comparisons(query, candidate)), features], dim=1)


def stacked(rows: Iterable[Iterable[Tensor]]) -> Tensor:
    """Tensors (B, ...) in rows as (B, rows, columns, ...)."""
    return torch.stack([torch.stack(list(row), dim=1) for row in rows], dim=1)


@MODELS.add("mp-cnn")
class MpCnn(MultiPerspective):
    """Multi-perspective comparisons, then a dense layer and two classes."""

    @dataclass(frozen=True)
    class Config(MultiPerspective.Config):
        """Settings, with the hidden layer of the public code."""

        hidden: int = 150
        dropout: float = 0.0  # before the last layer

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.hidden = nn.Linear(self.joined_dim + self.feature_dim, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.hidden, 2)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        hidden = self.hidden(self.joined(query, candidate, features)).tanh()  # (B, H)
        wrong, right = self.output(self.dropout(hidden)).unbind(1)
        return right - wrong  # (B,)


@MODELS.add("rank-mp-cnn")
class RankMpCnn(MultiPerspective):
    """Multi-perspective comparisons, scored by one linear layer and trained to rank.

    The paper's sampling of wrong answers is a matter of the recipe: RANDOM is ``pool``, MAX is
    ``pool`` with ``hardest_of``, MIX is ``mix``.
    """

    @dataclass(frozen=True)
    class Config(MultiPerspective.Config):
        dropout: float = 0.5  # on the comparisons

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(self.joined_dim + self.feature_dim, 1)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        joined = self.joined(query, candidate, features)  # (B, joined_dim + F)
        return self.output(self.dropout(joined)).squeeze(-1)  # (B,)
