"""ARC-I and ARC-II: layers of convolution and pooling over pairs of texts (Hu et al., NIPS 2014).

ARC-I reads each text alone and joins two vectors at the end; ARC-II combines all pairs of windows
in the first layer and continues in two dimensions. The paper pads texts to a fixed length and joins
the remaining positions; here the last pooling spans all remaining positions, so that texts of any
length give vectors of one size. Values beyond the text are zero, as the paper's gate makes padding;
after a ReLU zeros change no maximum.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States
from askonce.models.layers.convolution import WindowConvolution
from askonce.models.layers.interaction import LogOdds
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import View


def within(lengths: Tensor, size: int) -> Tensor:
    """True (B, size) for the positions before each length."""
    return torch.arange(size, device=lengths.device) < lengths[:, None]


def halved(lengths: Tensor) -> Tensor:
    """Lengths after pooling over two neighbours, of which the last may be alone."""
    return (lengths + 1) // 2


class StackedConvolution(nn.Module):
    """Convolution, ReLU and the greater of two neighbours, several times over."""

    def __init__(self, input_dim: int, config: "ArcOne.Config") -> None:
        super().__init__()
        sizes = [input_dim] + [config.filters] * (config.layers - 1)
        self.layers = nn.ModuleList(
            WindowConvolution(size, config.filters, config.width, "same", bias=True)
            for size in sizes
        )

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        for number, layer in enumerate(cast(Iterable[WindowConvolution], self.layers)):
            if number:
                vectors = F.max_pool1d(vectors.mT, 2, ceil_mode=True).mT  # (B, ⌈T/2⌉, C)
                lengths = halved(lengths)
            real = within(lengths, vectors.shape[1]).unsqueeze(-1)  # (B, T, 1)
            vectors = layer(vectors).relu() * real  # (B, T, C)
        return vectors.amax(1)


@MODELS.add("arc-i")
class ArcOne(PairMatcher):
    """Two layers of convolution and pooling over each text alone, then dense layers over both."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """Windows of three words throughout; 200 to 500 feature maps."""

        filters: int = 200
        width: int = 3
        layers: int = 2  # of convolution and pooling; 2 did best for ARC-I, 3 for ARC-II
        hidden: int = 128  # of the dense layer
        dropout: float = 0.2

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.of_query = StackedConvolution(self.input_dim, config)
        self.of_candidate = StackedConvolution(self.input_dim, config)
        sizes = [2 * config.filters + self.feature_dim, config.hidden]
        self.odds = LogOdds(sizes, config.dropout)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        stack = self.of_query if side == "query" else self.of_candidate
        return States(view, per_text={"text": stack(vectors, view.lengths)})  # (B, C)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        return self.odds(query["text"], candidate["text"], features)  # (B,)


@MODELS.add("arc-ii")
class ArcTwo(PairMatcher):
    """All pairs of word windows, then convolution and pooling in two dimensions."""

    @dataclass(frozen=True)
    class Config(ArcOne.Config):
        """Settings of ARC-I, with one layer more."""

        layers: int = 3

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        filters, width = config.filters, config.width
        # a filter over two windows is the sum of one over each: one bias is enough
        self.of_query = WindowConvolution(self.input_dim, filters, width, "same", bias=True)
        self.of_candidate = WindowConvolution(self.input_dim, filters, width, "same", bias=False)
        self.layers = nn.ModuleList(
            nn.Conv2d(filters, filters, width, padding="same") for _ in range(config.layers - 1)
        )
        self.odds = LogOdds([filters + self.feature_dim, config.hidden], config.dropout)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """The part of the first layer that one text gives."""
        filters = self.of_query if side == "query" else self.of_candidate
        return States(view, {"windows": filters(vectors)})  # (B, T, C)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        """Log-odds of the pair.

        The first pooling takes the greatest sum of two windows, which is the sum of the greatest
        of each: pooling each text first makes the grid four times smaller.
        """
        rows, columns = halved(query.view.lengths), halved(candidate.view.lengths)  # (B,) each
        of_query, of_candidate = (
            F.max_pool1d(
                side["windows"].masked_fill(~side.view.mask.unsqueeze(-1), -torch.inf).mT,
                2,
                ceil_mode=True,
            ).mT  # (B, ⌈T/2⌉, C)
            for side in (query, candidate)
        )
        grid = (of_query.unsqueeze(2) + of_candidate.unsqueeze(1)).relu()  # (B, R, S, C)
        grid = grid.permute(0, 3, 1, 2)  # (B, C, R, S); zero where either is padding
        for number, layer in enumerate(self.layers):
            if number:
                grid = F.max_pool2d(grid, 2, ceil_mode=True)  # (B, C, ⌈R/2⌉, ⌈S/2⌉)
                rows, columns = halved(rows), halved(columns)
            grid = self.cut(layer(grid).relu(), rows, columns)
        greatest = grid.amax((2, 3))  # (B, C)
        return self.odds(greatest, greatest[:, :0], features)  # (B,); one vector for both texts

    @staticmethod
    def cut(grid: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """The grid (B, C, R, S) with zeros outside of both texts."""
        real = within(rows, grid.shape[2]).unsqueeze(2) & within(columns, grid.shape[3]).unsqueeze(
            1
        )
        return grid * real.unsqueeze(1)
