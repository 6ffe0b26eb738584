"""Arithmetic that a CPU does quickly."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """Take numbers below 1e-38 for zero meanwhile.

    Gates multiply over hundreds of words, and so do their gradients. What is left of them is
    arithmetic that a CPU does ten times slower, for digits that nothing reads.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
