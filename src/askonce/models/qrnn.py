"""QRNN+MLP: quasi-recurrent networks over each text, then dense layers (Tay et al., 2018).

``forward`` computes without padding, since texts of a training batch vary in length. ``read`` and
``match`` use padded states, which can be cached per text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights
from askonce.models.layers.cells import Packing
from askonce.models.layers.interaction import LogOdds
from askonce.models.layers.quasi_recurrent import GatedMean, QuasiRecurrent, distinct
from askonce.models.layers.words import occurs_in
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import Batch, View

QUERY: Side = "query"
CANDIDATE: Side = "candidate"


@dataclass(frozen=True, eq=False)
class Gated:
    """Values and gates of the words of B texts, packed by step without padding."""

    lengths: Tensor  # (B,)
    packing: Packing
    values: Tensor  # (N, d)
    gates: Tensor  # (N, 2d)

    def mean(self, *partner_gates: Tensor) -> Tensor:
        """Mean over the words; with the partner's gates, of the product of both streams."""
        share = self.lengths[self.packing.order, None].to(self.values.dtype).reciprocal()  # (B, 1)
        weight = [share[:size] for size in self.packing.sizes]
        mean = GatedMean.apply(weight, self.values, self.gates, *partner_gates)  # type: ignore[no-untyped-call]
        return mean.index_select(0, self.packing.rank)  # (B, d)


def gated_mean(view: View, z: Tensor, *gates: Tensor) -> Tensor:
    """Mean over the words of each text, of one stream or of the product of two."""
    weight = (view.mask.to(z.dtype) / view.lengths[:, None]).T.unsqueeze(-1)  # (T, B, 1)
    return GatedMean.apply(weight, z, *gates)  # type: ignore[no-untyped-call] # (B, d)


@MODELS.add("qrnn", "qrnn-mlp")
class QRNN(PairMatcher):
    """Quasi-recurrent network over each text alone, then dense layers over both."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """Settings, with the sizes of Table 2."""

        projection: int = 300  # m; words are projected, since their vectors are fixed
        dim: int = 512  # d; tuned within 128 … 1024
        width: int = 2  # k, words that a gate sees
        hidden: int = 128  # h, size of the dense layers
        layers: Literal[1, 2, 3] = 1  # dense layers; tuned within 1 … 3
        dropout: float = 0.5  # implementation details
        bias: bool = True  # of values and gates; Table 2 counts none

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.projection = nn.Sequential(
            nn.Linear(self.input_dim, config.projection, bias=False), nn.ReLU()
        )
        self.recurrent = QuasiRecurrent(config.projection, config.dim, config.width, config.bias)
        sizes = [2 * config.dim + self.feature_dim] + [config.hidden] * config.layers
        self.odds = LogOdds(sizes, config.dropout)

    def forward(self, query: Batch, candidate: Batch) -> Tensor:
        return self.at_once(query.text, candidate.text)

    def match(self, query: States, candidate: States) -> Tensor:
        if self.config.flags:  # nothing was read before the partner was known
            return self.at_once(query.view, candidate.view)
        return super().match(query, candidate)

    def at_once(self, query: View, candidate: View) -> Tensor:
        """Scores of the pairs, both texts read now and without padding."""
        one = self.gated(query, self.vectors(query, candidate))
        two = self.gated(candidate, self.vectors(candidate, query))
        features = self.features(query, candidate)
        return self.odds(self.pooled(one, two), self.pooled(two, one), features)

    def vectors(self, view: View, partner: View) -> Tensor:
        """The input of each word: its vector and, with flags, its match flag."""
        vectors = self.words(view)  # (B, T, E)
        if not self.config.flags:
            return vectors
        return torch.cat([vectors, occurs_in(view, partner).unsqueeze(-1)], dim=-1)  # (B, T, E+1)

    def windows(self, view: View, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """The distinct words, projected (U, m), and the windows (B, T, width) over them."""
        if view.vectors is not None:  # each word has a vector of its own
            return self.projection(vectors).flatten(0, 1), self.recurrent.windows(
                torch.arange(view.codes.numel(), device=vectors.device).view(view.codes.shape)
            )
        keys = view.ids
        if self.config.flags:  # a word with and without a match is two
            keys = 2 * keys + vectors[..., -1].long()
        words, rows = distinct(keys, vectors)
        return self.projection(words), self.recurrent.windows(rows)

    def gates(self, view: View, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Z (T, B, d) and F|O (T, B, 2d) of each text."""
        words, windows = self.windows(view, vectors)
        z, gates = self.recurrent(words, windows.transpose(0, 1).flatten(0, 1))  # (T·B, ·)
        return z.view(*view.mask.T.shape, -1), gates.view(*view.mask.T.shape, -1)

    def gated(self, view: View, vectors: Tensor) -> Gated:
        words, windows = self.windows(view, vectors)
        packing = Packing.of(view.mask)
        return Gated(view.lengths, packing, *self.recurrent(words, packing.pack(windows)))

    def pooled(self, own: Gated, partner: Gated) -> Tensor:
        """The mean of the hidden states, whatever the partner."""
        return own.mean()  # (B, d)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        return States(view, per_text={"mean": self.gated(view, vectors).mean()})  # (B, d)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        return self.odds(query["mean"], candidate["mean"], features)  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """Forget and output gates of each word, as means over the d values."""
        weights = []
        for own, partner, side in (
            (query.text, candidate.text, QUERY),
            (candidate.text, query.text, CANDIDATE),
        ):
            _, gates = self.gates(own, self.vectors(own, partner))
            weights += gate_weights("own", side, gates)
        return weights


def gate_weights(whose: str, side: Side, gates: Tensor) -> list[WordWeights]:
    """The two gates of each word of one side, from F|O (T, B, 2d)."""
    means = gates.reshape(*gates.shape[:2], 2, -1).mean(-1).permute(2, 1, 0)  # (2, B, T)
    names = f"{whose} forget gate", f"{whose} output gate"
    return [WordWeights(n, side, m) for n, m in zip(names, means, strict=True)]
