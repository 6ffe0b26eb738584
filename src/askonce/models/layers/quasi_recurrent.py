"""Quasi-recurrent layers: a convolution gives values and gates, a recurrence pools them over time.

Words are ordered by step, so that a step of the recurrence is one block of memory: (T, B, ·) with
padding, or (N, ·) packed, which has only real words.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


class CausalConvolution(nn.Module):
    """A convolution over texts that multiplies each distinct word once.

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

    def forward(self, words: Tensor, windows: Tensor) -> tuple[Tensor, Tensor]:
        """Z (N, d) and F|O (N, 2d) of the ``windows`` (N, width) over ``words``."""
        words = F.pad(words, (0, 0, 1, 0))  # (1+U, m); row 0 is the zeros before each text
        return self.values(words, windows).tanh_(), self.gates(words, windows).sigmoid_()

    def windows(self, rows: Tensor) -> Tensor:
        """The rows of each word's window (B, T, width), for texts of words ``words[rows]``."""
        steps = rows.shape[1]
        taps = [
            F.pad(rows + 1, (self.width - 1 - tap, 0))[:, :steps] * self.width + tap
            for tap in range(self.width)
        ]
        return torch.stack(taps, dim=-1)


class GatedMean(Function):
    """Mean over time of the product over streams of o_t c_t; c_t = f_t c_{t-1} + (1 - f_t) z_t.

    Streams have the same values z and different gates; there are one or two. The backward pass is
    by hand, since a graph of all steps costs several times the arithmetic.
    """

    @staticmethod
    def forward(ctx: Any, weight: Sequence[Tensor], z: Tensor, *gates: Tensor) -> Tensor:  # noqa: ANN401
        """Mean (B, d) of z (N, d) by F|O (N, 2d) of each stream; z and F|O may be padded too.

        ``weight`` has a tensor (b, 1) for each step, for the first b texts, which reach it.
        """
        weight, cells = tuple(weight), [torch.empty_like(z) for _ in gates]
        sizes = [len(step) for step in weight]
        total, start, product = z.new_zeros(3, sizes[0], z.shape[-1]).unbind(0)  # (B, d)
        streams = [
            (*halves(gate, sizes), (start, *steps(cell, sizes)))  # c_0 … c_T
            for gate, cell in zip(gates, cells, strict=True)
        ]
        for t, value in enumerate(steps(z, sizes)):
            size = len(value)
            factors = [weight[t]]
            for forget, output, cell in streams:
                torch.lerp(value, cell[t][:size], forget[t], out=cell[t + 1])
                factors += [output[t], cell[t + 1]]
            hidden = torch.mul(*factors[:2], out=product[:size])
            for factor in factors[2:-1]:
                hidden.mul_(factor)
            total[:size].addcmul_(hidden, factors[-1])
        ctx.weight = weight
        ctx.save_for_backward(z, *gates, *cells)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        z, *rest = ctx.saved_tensors
        count, sizes = len(rest) // 2, [len(step) for step in ctx.weight]
        grad_z, grad_gates = torch.zeros_like(z), [torch.empty_like(g) for g in rest[:count]]
        forget, output = zip(*(halves(g, sizes) for g in rest[:count]), strict=True)  # [stream][t]
        grad_forget, grad_output = zip(*(halves(g, sizes) for g in grad_gates), strict=True)
        values, grad_values = steps(z, sizes), steps(grad_z, sizes)
        cell = [(torch.zeros_like(grad), *steps(c, sizes)) for c in rest[count:]]  # c_0 … c_T
        carry = [torch.zeros_like(grad) for _ in cell]  # (B, d), what later steps want of c_t
        spare, shared, wanted = grad.new_zeros(3, *grad.shape).unbind(0)  # (B, d)
        for t, size in reversed([*enumerate(sizes)]):
            mean = torch.mul(grad[:size], ctx.weight[t], out=shared[:size])
            for own in range(count):
                of_state = mean  # of o_t c_t
                for other in {*range(count)} - {own}:
                    of_state = torch.mul(mean, output[other][t], out=wanted[:size])
                    of_state.mul_(cell[other][t + 1])
                torch.mul(of_state, cell[own][t + 1], out=grad_output[own][t])
                now = carry[own][:size].addcmul_(of_state, output[own][t])
                torch.sub(cell[own][t][:size], values[t], out=grad_forget[own][t]).mul_(now)
                carried = torch.mul(now, forget[own][t], out=spare[:size])
                grad_values[t].add_(now.sub_(carried))
                carry[own], spare = spare, carry[own]  # zeros from ``size`` on, both
        return None, grad_z, *grad_gates


def steps(words: Tensor, sizes: list[int]) -> tuple[Tensor, ...]:
    """The tensors of each step, from (T, B, ·) or packed (N, ·)."""
    return words.unbind(0) if words.dim() == 3 else torch.split(words, sizes)


def halves(gates: Tensor, sizes: list[int]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The forget gates and the output gates (b, d) of each step."""
    forget, output = gates.chunk(2, dim=-1)
    return steps(forget, sizes), steps(output, sizes)


def distinct(keys: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The vector of each distinct key (U, E), and the row of it for each word (B, T)."""
    unique, rows = torch.unique(keys, return_inverse=True)
    every = torch.arange(keys.numel(), device=keys.device)
    one = torch.empty_like(unique).scatter_(0, rows.flatten(), every)  # (U,), any occurrence
    return vectors.flatten(0, 1).index_select(0, one), rows
