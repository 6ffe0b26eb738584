"""Layers that read a text word by word, with one interface for encoding and decoding.

``cell(vectors, mask, initial) -> (states, final)`` reads B texts of at most T words:

* ``vectors`` (B, T, E) and ``mask`` (B, T), True on the words, which precede the padding;
* ``initial`` is the State to continue from, None for zeros;
* ``states`` (B, T, d) hold h_t of each word; values on padding are undefined;
* ``final`` is the State after each text's true last word.

A State is a tuple of tensors whose first dimension is B, the visible state h first: ``(h,)`` for a
GRU, ``(h, c)`` for an LSTM, ``(h, c)`` with all accumulators c (B, n, d) for a gated convolution.
A cell reads strictly from left to right, so reading a text in two parts, the second from the final
State of the first, equals reading it at once, and a decoder of the same kind can start from an
encoder's final State.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models.layers.functional import last_state

State = tuple[Tensor, ...]

HOLD = 1e4  # a sigmoid is exactly 1 here, and exactly 0 at minus this


class Cell(nn.Module, ABC):
    """Reads word vectors of length ``input_dim`` into states of length ``dim``."""

    def __init__(self, input_dim: int, dim: int) -> None:
        super().__init__()
        self.input_dim, self.dim = input_dim, dim

    @abstractmethod
    def forward(
        self, vectors: Tensor, mask: Tensor, initial: State | None = None
    ) -> tuple[Tensor, State]:
        """States of all words and the final State; see the module for the contract."""

    def look_up(self, table: Tensor, rows: Tensor, mask: Tensor) -> tuple[Tensor, State]:
        return self(F.embedding(rows, table), mask)


def weight(*shape: int) -> nn.Parameter:
    """A parameter, uniform in ±0.05, as the authors initialise all weights and biases."""
    return nn.Parameter(torch.empty(shape).uniform_(-0.05, 0.05))


@dataclass(frozen=True, eq=False)
class Packing:
    """The words of padded texts by step, longest text first; a step has the texts that reach it.

    Like torch's packed sequences, whose unpacking has a backward pass that is quadratic in the
    number of different lengths.
    """

    shape: tuple[int, int]  # B, T
    order: Tensor  # (B,) texts by falling length
    rank: Tensor  # (B,) position of each text in that order
    sizes: list[int]  # texts that have a word at step t
    rows: Tensor  # (N,) row of each packed word in (B·T, ·)
    starts: Tensor  # (T,) packed row of the longest text's word at step t
    last: Tensor  # (B,) packed row of the last word, by falling length

    @classmethod
    def of(cls, mask: Tensor) -> "Packing":
        lengths, order = mask.sum(1).sort(descending=True, stable=True)  # (B,)
        texts = torch.arange(len(mask), device=mask.device)
        steps = torch.arange(int(lengths[0]), device=mask.device).unsqueeze(1)
        lasting = steps < lengths  # (T, B)
        sizes = lasting.sum(1)  # (T,)
        starts = sizes.cumsum(0) - sizes
        return cls(
            shape=(mask.shape[0], mask.shape[1]),
            order=order,
            rank=torch.empty_like(order).scatter(0, order, texts),
            sizes=sizes.tolist(),
            rows=(order * mask.shape[1] + steps)[lasting],
            starts=starts,
            last=starts[lengths - 1] + texts,
        )

    def pack(self, padded: Tensor) -> Tensor:
        """The rows of all words, by step."""
        return padded.flatten(0, 1).index_select(0, self.rows)  # (N, ...)

    def pad(self, packed: Tensor) -> Tensor:
        """The inverse of ``pack``; zeros on padding."""
        flat = packed.new_zeros(self.shape[0] * self.shape[1], packed.shape[1])
        return flat.index_copy_(0, self.rows, packed).view(*self.shape, -1)  # (B, T, D)


class LSTMCell(Cell):
    """Long short-term memory with one bias per gate.

    It runs torch's fused kernel, which has no mask: an input that is 1 on padding closes the input
    gate and opens the forget gate, so that c is kept.
    """

    def __init__(self, input_dim: int, dim: int) -> None:
        super().__init__(input_dim, dim)
        self.input = weight(4 * dim, input_dim)  # torch's order: i, f, z, o
        self.recurrent = weight(4 * dim, dim)
        self.bias = weight(4 * dim)
        hold = torch.tensor([-HOLD, HOLD, 0.0, 0.0]).repeat_interleave(dim).unsqueeze(1)
        self.register_buffer("hold", hold, persistent=False)
        self.hold: Tensor

    def forward(
        self, vectors: Tensor, mask: Tensor, initial: State | None = None
    ) -> tuple[Tensor, State]:
        if initial is None:
            zeros = vectors.new_zeros(len(vectors), self.dim)
            initial = (zeros, zeros)
        flagged = torch.cat([vectors, ~mask.unsqueeze(-1)], dim=-1)  # (B, T, E+1)
        weights = [
            torch.cat([self.input, self.hold], dim=1),
            self.recurrent,
            self.bias,
            torch.zeros_like(self.bias),  # the second bias of torch's kernel is redundant
        ]
        start = [part.unsqueeze(0) for part in initial]
        states, _, c = torch.lstm(
            flagged, start, weights, True, 1, 0.0, self.training, False, True
        )  # biases, one layer, no dropout between layers, one direction, batch first
        return states, (last_state(states, mask.sum(1)), c.squeeze(0))


class GRUCell(Cell):
    """Gated recurrent unit of Lei et al. 2016: r acts inside, U(r ⊙ h); i weights the new value."""

    def __init__(self, input_dim: int, dim: int) -> None:
        super().__init__(input_dim, dim)
        self.input = weight(3 * dim, input_dim)  # i, r, candidate
        self.bias = weight(3 * dim)
        self.gates = weight(2 * dim, dim)  # U^i, U^r
        self.recurrent = weight(dim, dim)  # U

    def forward(
        self, vectors: Tensor, mask: Tensor, initial: State | None = None
    ) -> tuple[Tensor, State]:
        packing = Packing.of(mask)
        read = F.linear(packing.pack(vectors), self.input, self.bias)  # (N, 3d)
        read_gates, read_new = read.tensor_split([2 * self.dim], dim=1)
        h = vectors.new_zeros(len(mask), self.dim) if initial is None else initial[0][packing.order]
        states = []
        for for_gates, for_new in zip(
            torch.split(read_gates, packing.sizes),
            torch.split(read_new, packing.sizes),
            strict=True,
        ):
            h = h[: len(for_new)]  # texts that ended drop out
            gates = torch.addmm(for_gates, h, self.gates.T).sigmoid()
            i, r = gates.chunk(2, dim=1)
            h = torch.lerp(h, torch.addmm(for_new, r * h, self.recurrent.T).tanh(), i)
            states.append(h)
        packed = torch.cat(states)  # (N, d)
        return packing.pad(packed), (packed[packing.last[packing.rank]],)


class ConvolutionCell(Cell):
    """Causal convolution, h_t = tanh(Σ_j W_j x_{t-n+j} + b).

    Its State is h and the vectors of the last n-1 words.
    """

    def __init__(self, input_dim: int, dim: int, order: int) -> None:
        super().__init__(input_dim, dim)
        self.order = order
        self.filters = weight(dim, input_dim, order)  # oldest word first
        self.bias = weight(dim)

    def forward(
        self, vectors: Tensor, mask: Tensor, initial: State | None = None
    ) -> tuple[Tensor, State]:
        if initial is None:
            before = vectors.new_zeros(len(vectors), self.order - 1, self.input_dim)
        else:
            before = initial[1]
        words = torch.cat([before, vectors], dim=1)  # (B, n-1+T, E)
        states = F.conv1d(words.mT, self.filters, self.bias).mT.tanh()  # (B, T, d)
        lengths = mask.sum(1)
        tail = lengths.unsqueeze(1) + torch.arange(self.order - 1, device=mask.device)  # (B, n-1)
        rows = torch.arange(len(mask), device=mask.device).unsqueeze(1)
        return states, (last_state(states, lengths), words[rows, tail])


class DecayedConvolution(Cell):
    """All n-grams count, less by ``decay`` for each word they skip (Lei et al. 2015, no gates).

    c_t = Σ_{t'<t} λ^(t-t'-1) (W_1 x_t' + W_2 x_t) for n = 2, h_t = tanh(c_t + b), and so on for
    longer n-grams. It is not the gated cell with a constant gate: nothing is normalised by 1-λ. A
    text of fewer than n words has no n-gram. Its State is h and, for each i < n, the decayed
    sum of the i-grams so far (B, n-1, d) and of their weights (B, n-1).
    """

    def __init__(self, input_dim: int, dim: int, order: int, decay: float) -> None:
        super().__init__(input_dim, dim)
        self.order, self.decay = order, decay
        self.filters = weight(order, dim, input_dim)  # W_1 … W_n
        self.bias = weight(dim)

    def forward(
        self, vectors: Tensor, mask: Tensor, initial: State | None = None
    ) -> tuple[Tensor, State]:
        rows, time = mask.shape
        if initial is None:
            sums = vectors.new_zeros(rows, self.order - 1, self.dim)
            counts = vectors.new_zeros(rows, self.order - 1)
        else:
            _, sums, counts = initial
        past, carry = self._decays(time, vectors)
        lengths = mask.sum(1)
        grams = vectors @ self.filters[0].T  # (B, T, d): the i-grams that end at t
        weights = torch.ones_like(grams[..., :1])  # (B, T, 1): their number, each with its decay
        ends = []
        for i in range(self.order - 1):
            both = torch.cat([grams, weights], dim=-1)  # (B, T, d+1)
            begun = torch.cat([sums[:, i], counts[:, i, None]], dim=-1).unsqueeze(1)  # (B, 1, d+1)
            earlier = past @ both + carry * begun  # (B, T, d+1): the i-grams that end before t
            ends.append(last_state(self.decay * earlier + both, lengths))
            longer, weights = earlier[..., :-1], earlier[..., -1:]
            grams = longer + weights * (vectors @ self.filters[i + 1].T)
        states = (grams + self.bias).tanh()  # (B, T, d)
        end = torch.stack(ends, dim=1)  # (B, n-1, d+1)
        return states, (last_state(states, lengths), end[..., :-1], end[..., -1])

    def _decays(self, time: int, like: Tensor) -> tuple[Tensor, Tensor]:
        steps = torch.arange(time, device=like.device)
        skipped = (steps.unsqueeze(1) - 1 - steps).clamp_min(0)  # (T, T)
        base = torch.tensor(self.decay, dtype=like.dtype, device=like.device)
        return (base**skipped).tril(-1), (base**steps).unsqueeze(-1)  # (T, T), (T, 1)
