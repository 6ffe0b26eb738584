"""QRNN+MLP, and CTRN, in which the gates of each text also compose its partner (Tay et al., 2018).

``forward`` computes without padding, since texts of a training batch vary in length. ``read`` and
``match`` use padded states, which can be cached per text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights
from askonce.models.layers.cells import Packing
from askonce.models.layers.functional import masked_softmax
from askonce.models.layers.quasi_recurrent import GatedMean, QuasiRecurrent, distinct
from askonce.models.layers.words import occurs_in
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import Batch, View

Alignment = Literal["proportional", "literal_clamp", "index", "soft"]
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


def aligned(own: Tensor, partner: Tensor, steps: int, alignment: Alignment) -> Tensor:
    """The partner's step t* for each own step, both from 0, for texts of lengths (B,)."""
    t = torch.arange(1, steps + 1, device=own.device)[:, None]  # (T, 1)
    if alignment == "proportional":  # the printed formula where it stays within the partner
        step = (t * partner + own - 1) // own  # ⌈t·Lp/Lo⌉
    elif alignment == "literal_clamp":
        longer, shorter = torch.maximum(own, partner), torch.minimum(own, partner)
        step = t * ((longer + shorter - 1) // shorter)
    else:
        step = t
    return step.minimum(partner) - 1  # (T, B)


def dense_layers(sizes: list[int], dropout: float) -> nn.Sequential:
    """ReLU layers with dropout before each, then one linear output without activation."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(sizes):
        layers += [nn.Dropout(dropout), nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class LogOdds(nn.Module):
    """Dense layers over two texts' vectors and their overlap; the two-class softmax as log-odds."""

    def __init__(self, sizes: list[int], dropout: float) -> None:
        super().__init__()
        drop, *layers = dense_layers([*sizes, 2], dropout)
        self.drop, self.dense = drop, nn.Sequential(*layers)

    def forward(self, query: Tensor, candidate: Tensor, features: Tensor) -> Tensor:
        # no dropout on the four features, which would be lost among hundreds of states
        inputs = [self.drop(query), self.drop(candidate), features]
        wrong, right = self.dense(torch.cat(inputs, dim=1)).unbind(1)
        return right - wrong  # (B,)


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
    return [WordWeights(n, side, "text", m) for n, m in zip(names, means, strict=True)]


@MODELS.add("ctrn")
class CTRN(QRNN):
    """QRNN in which each text is composed twice, by its own gates and by its partner's gates."""

    @dataclass(frozen=True)
    class Config(QRNN.Config):
        """Settings of QRNN, and which word of the partner gives its gates."""

        alignment: Alignment = (
            "proportional"  # t*; the printed formula can exceed the partner's length
        )

    config: Config

    def at_once(self, query: View, candidate: View) -> Tensor:
        if self.config.alignment != "soft":
            return super().at_once(query, candidate)
        # every word attends to all words of the partner, which needs padded states
        one = self.states(query, self.vectors(query, candidate), QUERY)
        two = self.states(candidate, self.vectors(candidate, query), CANDIDATE)
        return self.compare(one, two, self.features(query, candidate))

    def pooled(self, own: Gated, partner: Gated) -> Tensor:
        """Mean over the words of one side of h_t ⊙ h†_t, in which † has the partner's gates."""
        steps = own.packing.shape[1]
        step = aligned(own.lengths, partner.lengths, steps, self.config.alignment)  # (T, B)
        rows = partner.packing.starts[step] + partner.packing.rank  # (T, B)
        partner_gates = partner.gates.index_select(0, own.packing.pack(rows.T))  # (N, 2d)
        return own.mean(partner_gates)  # (B, d)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """Values (B, T, d) and gates (B, T, 2d) of each word."""
        values, gates = self.gates(view, vectors)  # (T, B, ·)
        return States(view, {"values": values.transpose(0, 1), "gates": gates.transpose(0, 1)})

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        crossed = self.composed(query, candidate), self.composed(candidate, query)
        return self.odds(*crossed, features)  # (B,)

    def composed(self, own: States, partner: States) -> Tensor:
        """The same as ``pooled`` from padded states."""
        z, gates = (own[name].transpose(0, 1) for name in ("values", "gates"))
        return gated_mean(own.view, z, gates, self.partner_gates(own, partner))  # (B, d)

    def partner_gates(self, own: States, partner: States) -> Tensor:
        """The partner's gates (T, B, 2d) for each word of one side."""
        if self.config.alignment == "soft":
            return self.attended(own, partner)
        steps, count = own["values"].shape[1], len(own.view)
        step = aligned(own.view.lengths, partner.view.lengths, steps, self.config.alignment)
        rows = step * count + torch.arange(count, device=step.device)  # (T, B)
        gates = partner["gates"].transpose(0, 1).flatten(0, 1)  # (S·B, 2d)
        return gates.index_select(0, rows.flatten()).view(*rows.shape, -1)  # (T, B, 2d)

    def attended(self, own: States, partner: States) -> Tensor:
        """The partner's gates (T, B, 2d), weighted by the similarity of the values."""
        similarity = own["values"] @ partner["values"].transpose(1, 2)  # (B, T, S)
        weights = masked_softmax(similarity, partner.view.mask[:, None])  # (B, T, S)
        return (weights @ partner["gates"]).transpose(0, 1)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """The own and the partner's gates of each word, as means over the d values."""
        read = self.complete(self.read(query, "query"), self.read(candidate, "candidate"))
        weights = []
        for own, partner, side in ((*read, QUERY), (*read[::-1], CANDIDATE)):
            weights += gate_weights("own", side, own["gates"].transpose(0, 1))
            weights += gate_weights("partner's", side, self.partner_gates(own, partner))
        return weights
