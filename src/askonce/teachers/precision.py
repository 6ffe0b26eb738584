"""The number format in which this processor multiplies matrices fastest, found by a short trial.

Flags of the processor do not tell. One with AVX512-BF16 but without AMX multiplied bfloat16 at
half the speed of float32, and 8-bit integers at four times its speed.
"""

import math
import time
from collections.abc import Callable
from enum import StrEnum
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SHAPE = 256, 384, 1536  # texts' tokens, numbers in and numbers out of the trial: MiniLM's layer
TRIALS = 8  # in turns; the fastest of each counts, so that other processes matter little
LARGEST = 127  # of an 8-bit integer
TINY = 1e-8  # the least scale, of a token or an output whose numbers are equal


class Precision(StrEnum):
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    INT8 = "int8"


class Int8Linear(nn.Module):
    """A linear layer of 8-bit integers, for reading only: y = x Wᵀ + b.

    Each output has a scale of its own, s; each token x has a scale t and a middle m, found as it is
    read, so that x ≈ t q + m and y ≈ t s (q Ŵᵀ) + m s Σ Ŵ + b. One scale for all tokens would lose
    most of their numbers to the few large ones that transformers have. Without a middle, errors of
    MiniLM's similarities were 1.6 times as large.
    """

    weight: Tensor  # (K, N), Ŵᵀ
    scale: Tensor  # (N,), s
    total: Tensor  # (N,), s Σ Ŵ
    bias: Tensor  # (N,)

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach().float()  # (N, K)
        scale = (weight.abs().amax(1) / LARGEST).clamp_min(TINY)  # (N,)
        rounded = (weight / scale[:, None]).round()
        bias = weight.new_zeros(len(weight)) if linear.bias is None else linear.bias.detach()
        self.register_buffer("weight", rounded.to(torch.int8).t().contiguous())
        self.register_buffer("scale", scale)
        self.register_buffer("total", scale * rounded.sum(1))
        self.register_buffer("bias", bias.float())

    def forward(self, given: Tensor) -> Tensor:
        rows = given.reshape(-1, given.shape[-1])  # (M, K)
        # aminmax, and one addcmul in place of two operations, take several times as long
        low, high = rows.amin(1, keepdim=True), rows.amax(1, keepdim=True)  # (M, 1) each
        middle = (low + high) / 2
        scale = ((high - low) / (2 * LARGEST)).clamp_min_(TINY)
        integers = (rows - middle).mul_(1 / scale).round_().to(torch.int8)
        product = torch._int_mm(integers, self.weight).float().mul_(scale)  # (M, N)
        torch.addcmul(self.bias, product, self.scale, out=product)
        return product.addcmul_(middle, self.total).reshape(*given.shape[:-1], -1)


def to_int8(module: nn.Module) -> None:
    """Replace the linear layers inside a module; their float weights go."""
    for name, child in module.named_children():
        if type(child) is nn.Linear:  # attention of torch itself reads the weights of a subclass
            setattr(module, name, Int8Linear(child))
        else:
            to_int8(child)


@cache
def fastest(*choices: Precision) -> Precision:
    """The fastest of these precisions, or of all, by the time of one layer."""
    tokens, width, outputs = SHAPE
    layer, given = nn.Linear(width, outputs).requires_grad_(False), torch.randn(tokens, width)
    short, half = Int8Linear(layer), layer.weight.bfloat16()
    ways: dict[Precision, Callable[[], Tensor]] = {
        Precision.FLOAT32: lambda: layer(given),
        Precision.BFLOAT16: lambda: F.linear(given.bfloat16(), half),
        Precision.INT8: lambda: short(given),
    }
    seconds = {name: math.inf for name in choices or ways}
    with torch.inference_mode():
        for _ in range(TRIALS):
            for name in seconds:
                begin = time.thread_time()
                ways[name]()
                seconds[name] = min(seconds[name], time.thread_time() - begin)
    return min(seconds, key=lambda name: seconds[name])
