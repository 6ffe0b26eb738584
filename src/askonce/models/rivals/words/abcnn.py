"""ABCNN: convolution and pooling under attention between two texts (Yin et al., TACL 2016).

Each block has a wide convolution and an average over as many neighbouring windows, which gives one
column per word again. Cosines of the two texts' mean columns, one per block and one of the words
themselves, go to a logistic regression with the paper's four features.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights, of_both
from askonce.models.layers.convolution import WindowConvolution
from askonce.models.layers.functional import cosine
from askonce.models.layers.words import SharedCounts
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import Batch, View


class Columns(NamedTuple):
    """Columns of B texts, zero on padding, and which are real."""

    values: Tensor  # (B, T, D)
    mask: Tensor  # (B, T)


def matches(left: Columns, right: Columns) -> Tensor:
    """A = 1 / (1 + ‖x - y‖) of each two columns (B, T, S); 0 on padding."""
    # without the matrix product, whose rounding would depend on the size of the batch
    exact = "donot_use_mm_for_euclid_dist"
    distances = torch.cdist(left.values, right.values, compute_mode=exact)  # (B, T, S)
    return (1 + distances).reciprocal() * (left.mask.unsqueeze(2) & right.mask.unsqueeze(1))


class AnswerFeatures(SharedCounts):
    """The counts of shared content words, and the lengths of both texts."""

    size = 4

    def shares(self, query: View, candidate: View) -> Tensor:
        lengths = torch.stack([query.lengths, candidate.lengths], dim=1)  # (B, 2)
        return torch.cat([super().shares(query, candidate), lengths], dim=1)  # (B, 4)


class Block(nn.Module):
    """Convolution and pooling of both texts, with the attention of the chosen variant."""

    def __init__(self, input_dim: int, config: "ABCNN.Config") -> None:
        super().__init__()
        self.width = config.width
        self.weighs_windows = config.variant in (2, 3)
        self.maps = None  # W; both texts share it, as the paper's footnote says
        if config.variant in (1, 3):
            self.maps = nn.Linear(config.longest, input_dim, bias=False)
            input_dim *= 2
        self.convolution = WindowConvolution(
            input_dim, config.filters, config.width, "wide", bias=True
        )

    def attention_maps(self, left: Columns, right: Columns) -> tuple[Tensor, Tensor]:
        """W A of each word by its matches with the partner's words: (B, T, D) and (B, S, D)."""
        assert self.maps is not None
        pairs, longest = matches(left, right), self.maps.in_features
        of_left = F.pad(pairs, (0, max(longest - pairs.shape[2], 0)))[..., :longest]
        of_right = F.pad(pairs.mT, (0, max(longest - pairs.shape[1], 0)))[..., :longest]
        return self.maps(of_left), self.maps(of_right)

    def convolved(self, columns: Columns) -> Columns:
        """tanh(W c_i + b) of every window that holds a word (B, T + w - 1, C)."""
        mask = self.convolution.window_mask(columns.mask)
        values = self.convolution(columns.values).tanh() * mask.unsqueeze(-1)
        return Columns(values, mask)

    def windows(self, left: Columns, right: Columns) -> tuple[Columns, Columns]:
        if self.maps is not None:
            maps = self.attention_maps(left, right)
            left, right = (
                Columns(torch.cat([side.values, added], dim=-1), side.mask)  # (B, T, 2D)
                for side, added in zip((left, right), maps, strict=True)
            )
        return self.convolved(left), self.convolved(right)

    def weights(self, left: Columns, right: Columns) -> tuple[Tensor, Tensor]:
        """What each window counts in pooling: the sum of its matches, or 1."""
        if not self.weighs_windows:
            return left.mask.to(left.values.dtype), right.mask.to(right.values.dtype)
        pairs = matches(left, right)  # (B, T + w - 1, S + w - 1)
        return pairs.sum(2), pairs.sum(1)

    def forward(self, left: Columns, right: Columns) -> tuple[tuple[Columns, Columns], Tensor]:
        """The columns of the next block, and the cosine (B,) of all windows' weighted sums."""
        masks = left.mask, right.mask
        windows = self.windows(left, right)
        sums, columns = [], []
        for side, weight, mask in zip(windows, self.weights(*windows), masks, strict=True):
            weighted = side.values * weight.unsqueeze(-1)  # (B, T + w - 1, C)
            sums.append(weighted.sum(1))  # all-ap; the cosine does not see the scale
            pooled = weighted.unfold(1, self.width, 1).sum(-1)  # (B, T, C)
            if not self.weighs_windows:
                pooled = pooled / self.width  # w-ap
            columns.append(Columns(pooled * mask.unsqueeze(-1), mask))
        return (columns[0], columns[1]), cosine(*sums)


@MODELS.add("abcnn", "ab-cnn")
class ABCNN(PairMatcher):
    """Convolution blocks whose inputs and pooling attend to the partner text."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """The paper's settings for WikiQA."""

        variant: Literal[0, 1, 2, 3] = 3  # attention to inputs (1), in pooling (2), both; 0 is BCNN
        layers: int = 2  # convolution blocks
        filters: int = 50
        width: int = 4  # w
        longest: int = 60  # s: partner's words that an attention map reads; later ones count 0

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        inputs = [self.input_dim] + [config.filters] * (config.layers - 1)
        self.blocks = nn.ModuleList(Block(size, config) for size in inputs)
        self.counts = AnswerFeatures(words)
        cosines = 1 + config.layers
        self.output = nn.Linear(cosines + AnswerFeatures.size + self.feature_dim, 1)

    def fit_inputs(self, query: View, candidate: View) -> None:
        super().fit_inputs(query, candidate)
        self.counts.fit(query, candidate)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        return States(view, {"words": vectors})  # (B, T, E)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        sides = tuple(Columns(side["words"], side.view.mask) for side in (query, candidate))
        left, right = sides
        cosines = [cosine(left.values.sum(1), right.values.sum(1))]
        for block in cast(Iterable[Block], self.blocks):
            (left, right), similarity = block(left, right)
            cosines.append(similarity)
        counts = self.counts(query.view, candidate.view)  # (B, 4)
        inputs = torch.cat([torch.stack(cosines, dim=1), counts, features], dim=1)
        return self.output(inputs).squeeze(-1)  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """How well each word, or for variant 2 its windows, match the partner's."""
        if self.config.variant == 0:
            return ()
        read = self.read_both(query, candidate)
        left, right = (Columns(side["words"], side.view.mask) for side in read)
        if self.config.variant == 2:
            block = cast(Block, self.blocks[0])
            weights = (
                weight.unfold(1, block.width, 1).mean(-1)  # of the windows that hold the word
                for weight in block.weights(*block.windows(left, right))
            )
        else:
            pairs = matches(left, right)  # (B, Tq, Ta)
            weights = (total for total in (pairs.sum(2), pairs.sum(1)))
        return of_both("attention", *weights)
