"""QRNN+MLP, and CTRN, in which the gates of each text also compose its partner (Tay et al., 2018).

Sequences are time-major (T, B, ·) in here, so that a step of the recurrence is one block of memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from askonce.models import MODELS
from askonce.models.base import Side, States, Words, WordWeights
from askonce.models.layers import dense_layers, masked_softmax
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import Batch, View

Alignment = Literal["proportional", "literal_clamp", "index", "soft"]
QUERY: Side = "query"
CANDIDATE: Side = "candidate"


class CausalConvolution(nn.Module):
    """A convolution over texts that multiplies each distinct word once, however often it stands.

    The products of a word with all taps are rows of a table; an output is a sum of ``width`` rows.
    """

    def __init__(self, fan_in: int, fan_out: int, width: int, bias: bool) -> None:
        super().__init__()
        self.taps = nn.Linear(fan_in, width * fan_out, bias=False)  # the oldest word's tap first
        self.bias = nn.Parameter(torch.zeros(fan_out)) if bias else None

    def forward(self, words: Tensor, windows: Tensor) -> Tensor:
        """Outputs (N, fan_out) for windows (N, width) that name rows of the table."""
        width = windows.shape[1]
        fan_out = self.taps.out_features // width
        bias = None  # counts once per window: with its newest word
        if self.bias is not None:
            bias = F.pad(self.bias, (self.taps.out_features - fan_out, 0))  # (width·fan_out,)
        table = F.linear(words, self.taps.weight, bias).view(-1, fan_out)  # (U·width, fan_out)
        return F.embedding_bag(windows, table, mode="sum")  # (N, fan_out)


class QuasiRecurrent(nn.Module):
    """The values and the gates of every word, each from the words up to it (eq. 1)."""

    def __init__(self, fan_in: int, dim: int, width: int, bias: bool) -> None:
        super().__init__()
        self.width = width
        self.values = CausalConvolution(fan_in, dim, width, bias)
        self.gates = CausalConvolution(fan_in, 2 * dim, width, bias)  # forget gates, output gates

    def forward(self, words: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Z (T, B, d) and F|O (T, B, 2d) of texts whose words are ``words[places]``."""
        words = F.pad(words, (0, 0, 1, 0))  # (1+U, m); row 0 is the zeros before each text
        taps = [
            F.pad(places + 1, (0, 0, self.width - 1 - tap, 0))[: len(places)] * self.width + tap
            for tap in range(self.width)
        ]
        windows = torch.stack(taps, dim=-1).flatten(0, 1)  # (T·B, width)
        values = self.values(words, windows).tanh_().view(*places.shape, -1)  # (T, B, d)
        gates = self.gates(words, windows).sigmoid_().view(*places.shape, -1)  # (T, B, 2d)
        return values, gates


class GatedMean(Function):
    """Mean over time of the product over streams of o_t c_t; c_t = f_t c_{t-1} + (1 - f_t) z_t.

    Streams have the same values z and different gates; there are one or two. The backward pass is
    by hand, since a graph of all steps costs several times the arithmetic.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, z: Tensor, *gates: Tensor) -> Tensor:  # noqa: ANN401
        """Mean (B, d) by ``weight`` (T, B, 1), from z (T, B, d) and F|O (T, B, 2d) per stream."""
        cells = [z.new_empty(len(z) + 1, *z.shape[1:]) for _ in gates]  # c_0 … c_T of each stream
        for cell in cells:
            cell[0] = 0
        streams = [(*halves(gate), cell.unbind(0)) for gate, cell in zip(gates, cells, strict=True)]
        total, hidden = torch.zeros_like(z[0]), torch.empty_like(z[0])  # (B, d)
        for t, value in enumerate(z.unbind(0)):
            hidden.copy_(weight[t])
            for forget, output, steps in streams:
                torch.lerp(value, steps[t], forget[t], out=steps[t + 1])
                hidden.mul_(output[t]).mul_(steps[t + 1])
            total += hidden
        ctx.save_for_backward(weight, z, *gates, *cells)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        """Gradients of z and of the gates of every stream."""
        weight, z, *rest = ctx.saved_tensors
        grad_z = torch.zeros_like(z)
        grad_gates = [torch.empty_like(gate) for gate in rest[: len(rest) // 2]]
        forget, output = zip(*map(halves, rest[: len(rest) // 2]), strict=True)  # [stream][t]
        grad_forget, grad_output = zip(*map(halves, grad_gates), strict=True)
        cell = [cells.unbind(0) for cells in rest[len(rest) // 2 :]]
        carry = [torch.zeros_like(grad) for _ in cell]  # (B, d), what later steps want of c_t
        wanted, kept = torch.empty_like(grad), torch.empty_like(grad)  # (B, d)
        for t in reversed(range(len(z))):
            for own in range(len(cell)):
                torch.mul(grad, weight[t], out=wanted)  # of o_t c_t
                for other in {*range(len(cell))} - {own}:
                    wanted.mul_(output[other][t]).mul_(cell[other][t + 1])
                torch.mul(wanted, cell[own][t + 1], out=grad_output[own][t])
                now = carry[own].addcmul_(wanted, output[own][t])
                torch.sub(cell[own][t], z[t], out=grad_forget[own][t]).mul_(now)
                torch.mul(now, forget[own][t], out=kept)
                grad_z[t] += now.sub_(kept)
                carry[own], kept = kept, now
        return None, grad_z, *grad_gates


def halves(gates: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The forget gates and the output gates (B, d) of each step."""
    forget, output = gates.chunk(2, dim=-1)
    return forget.unbind(0), output.unbind(0)


def gated_mean(view: View, z: Tensor, *gates: Tensor) -> Tensor:
    """Mean over the words of each text, of one stream or of the product of two."""
    weight = (view.mask.to(z.dtype) / view.lengths[:, None]).T.unsqueeze(-1)  # (T, B, 1)
    return GatedMean.apply(weight, z, *gates)  # type: ignore[no-untyped-call] # (B, d)


def distinct(keys: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The vector of each distinct key (U, E), and which of them stands at each place (B, T)."""
    found, places = torch.unique(keys, return_inverse=True)
    every = torch.arange(keys.numel(), device=keys.device)
    one = torch.empty_like(found).scatter_(0, places.flatten(), every)  # (U,), any place of each
    return vectors.flatten(0, 1).index_select(0, one), places


def aligned(own: Tensor, partner: Tensor, steps: int, alignment: Alignment) -> Tensor:
    """The partner's place t* for each own place, both from 0, for texts of lengths (B,)."""
    t = torch.arange(1, steps + 1, device=own.device)[:, None]  # (T, 1)
    if alignment == "proportional":  # the printed formula where that stays within the partner
        place = (t * partner + own - 1) // own  # ⌈t·Lp/Lo⌉
    elif alignment == "literal_clamp":
        longer, shorter = torch.maximum(own, partner), torch.minimum(own, partner)
        place = t * ((longer + shorter - 1) // shorter)
    else:
        place = t
    return place.minimum(partner) - 1  # (T, B)


class LogOdds(nn.Module):
    """Dense layers over two texts' vectors and their overlap; the two-class softmax as log-odds."""

    def __init__(self, sizes: list[int], dropout: float) -> None:
        super().__init__()
        self.dense = dense_layers([*sizes, 2], dropout)

    def forward(self, query: Tensor, candidate: Tensor, features: Tensor) -> Tensor:
        """How much likelier right than wrong, one value per row."""
        wrong, right = self.dense(torch.cat([query, candidate, features], dim=1)).unbind(1)
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

    def __init__(self, config: Config, words: Words) -> None:
        super().__init__(config, words)
        self.projection = nn.Sequential(
            nn.Linear(self.input_dim, config.projection, bias=False), nn.ReLU()
        )
        self.recurrent = QuasiRecurrent(config.projection, config.dim, config.width, config.bias)
        sizes = [2 * config.dim + self.feature_dim] + [config.hidden] * config.layers
        self.odds = LogOdds(sizes, config.dropout)

    def gates(self, view: View, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Z (T, B, d) and F|O (T, B, 2d) of each text."""
        keys = view.ids
        if self.config.flags:  # the same word is two when the partner has it in one text only
            keys = 2 * keys + vectors[..., -1].long()
        words, places = distinct(keys, vectors)
        return self.recurrent(self.projection(words), places.T)

    def states(self, view: View, vectors: Tensor, side: Side) -> tuple[Tensor, ...]:
        """The mean of the hidden states."""
        return (gated_mean(view, *self.gates(view, vectors)),)  # (B, d)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        """Log-odds of the pair."""
        return self.odds(query.parts[0], candidate.parts[0], features)  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """Forget and output gates of each word, as means over the d values."""
        read: list[tuple[Tensor, Tensor]] = []  # what the recurrent layer gives in a forward pass
        hook = self.recurrent.register_forward_hook(lambda *call: read.append(call[-1]))
        self(query, candidate)
        hook.remove()
        (_, of_query), (_, of_candidate) = read
        return gate_weights("own", QUERY, of_query) + gate_weights("own", CANDIDATE, of_candidate)


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
        """Settings of QRNN, and which partner's word lends its gates."""

        alignment: Alignment = "proportional"  # t*, whose printed formula leaves the partner's text

    config: Config

    def states(self, view: View, vectors: Tensor, side: Side) -> tuple[Tensor, ...]:
        """Values and gates of each word."""
        return tuple(part.transpose(0, 1) for part in self.gates(view, vectors))

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        """Log-odds of the pair."""
        crossed = self.composed(query, candidate), self.composed(candidate, query)
        return self.odds(*crossed, features)  # (B,)

    def composed(self, own: States, partner: States) -> Tensor:
        """Mean over the words of one side of h_t ⊙ h†_t, in which † has the partner's gates."""
        z, gates = (part.transpose(0, 1) for part in own.parts)
        return gated_mean(own.view, z, gates, self.lent(own, partner))  # (B, d)

    def lent(self, own: States, partner: States) -> Tensor:
        """The partner's gates (T, B, 2d) for each word of one side."""
        if self.config.alignment == "soft":
            return self.attended(own, partner)
        steps, count = own.parts[0].shape[1], len(own.view)
        place = aligned(own.view.lengths, partner.view.lengths, steps, self.config.alignment)
        rows = place * count + torch.arange(count, device=place.device)  # (T, B)
        gates = partner.parts[1].transpose(0, 1).flatten(0, 1)  # (S·B, 2d)
        return gates.index_select(0, rows.flatten()).view(*rows.shape, -1)  # (T, B, 2d)

    def attended(self, own: States, partner: States) -> Tensor:
        """The partner's gates (T, B, 2d), weighted by the likeness of the values."""
        (z, _), (values, gates) = own.parts, partner.parts
        likeness = z @ values.transpose(1, 2)  # (B, T, S)
        weights = masked_softmax(likeness, partner.view.mask[:, None])  # (B, T, S)
        return (weights @ gates).transpose(0, 1)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """The gates of each word and those its partner lends it, as means over the d values."""
        read = self.complete(self.read(query, "query"), self.read(candidate, "candidate"))
        weights = []
        for own, partner, side in ((*read, QUERY), (*read[::-1], CANDIDATE)):
            weights += gate_weights("own", side, own.parts[1].transpose(0, 1))
            weights += gate_weights("partner's", side, self.lent(own, partner))
        return weights
