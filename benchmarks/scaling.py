"""How time and memory of each model grow with the length of the candidate and with the batch."""

import time
from collections.abc import Callable

import numpy as np
import torch
from torch.profiler import ProfilerActivity

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Matcher
from askonce.text.batch import Batch, TokenIds
from askonce.training.epochs import flushed_denormals

LENGTHS, BATCHES = (25, 50, 100, 200, 400), (1, 8, 64, 512)
CPU = ProfilerActivity.CPU
NONE = np.empty(0, dtype=np.int64)


@flushed_denormals()  # as training does
def growth(quick: bool) -> dict[str, dict[str, object]]:
    """For each model of words: seconds and megabytes of a forward and backward pass, and exponents.

    An exponent is the slope of log cost over log size: 1 is linear. It is fitted to the upper
    sizes, since a fixed cost hides the growth of the small ones.
    """
    lengths, sizes = ((50, 100, 200), (8, 64)) if quick else (LENGTHS, BATCHES)
    names = [name for name in MODELS.names() if MODELS[name].reads == "words"]
    return {name: _grow(name, lengths, sizes) for name in names}


def _grow(name: str, lengths: tuple[int, ...], sizes: tuple[int, ...]) -> dict[str, object]:
    kind = MODELS[name]
    torch.manual_seed(1)
    words = EmbeddingInit(
        torch.randn(2000, 100), torch.ones(2000), 10_000, torch.zeros(2000).bool()
    )
    model = kind(kind.Config(), words).train()
    by_length = [_cost(model, 16, length) for length in lengths]
    by_batch = [_cost(model, size, 25) for size in sizes]
    return {
        "length": _table(lengths, by_length),
        "batch": _table(sizes, by_batch),
        "length_exponent": _exponents(lengths, by_length),
        "batch_exponent": _exponents(sizes, by_batch),
    }


def _cost(model: Matcher, size: int, length: int) -> tuple[float, float]:
    rng = np.random.default_rng(1)
    query, candidate = (
        Batch([TokenIds(rng.integers(2, 2000, words), NONE) for _ in range(size)])
        for words in (10, length)
    )

    def step() -> None:
        model(query, candidate).sum().backward()

    step()
    seconds = []
    for _ in range(2):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    return min(seconds), _peak(step)


def _peak(step: Callable[[], None]) -> float:
    """The most megabytes of tensors that a step holds at one moment, by torch's own record."""
    with torch.profiler.profile(profile_memory=True, activities=[CPU]) as profile:
        step()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    return float(np.cumsum([event.nbytes() for event in events]).max(initial=0)) / 2**20


def _table(sizes: tuple[int, ...], costs: list[tuple[float, float]]) -> dict[str, dict[str, float]]:
    return {
        str(size): {"ms": round(1000 * seconds, 2), "peak_mb": round(memory, 1)}
        for size, (seconds, memory) in zip(sizes, costs, strict=True)
    }


def _exponents(sizes: tuple[int, ...], costs: list[tuple[float, float]]) -> dict[str, float]:
    upper = slice(-3, None)
    exponents = {}
    for column, kind in enumerate(("time", "memory")):
        values = [cost[column] for cost in costs][upper]
        slope = np.polyfit(np.log(sizes[upper]), np.log(values), 1)[0]
        exponents[kind] = round(float(slope), 2)
    return exponents
