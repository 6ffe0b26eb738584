"""A running mean of the weights over steps: calmer than where the last batches left them."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from askonce.models.base import Matcher


class WeightAverage:
    """The mean of the trained weights: each step keeps ``keep`` of the mean before, 0 nothing.

    It lives in the optimiser's state, so that checkpoints hold it as they hold Adam's moments.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, keep: float) -> None:
        self._optimizer = optimizer
        self._keep = keep
        if keep:
            optimizer.register_step_post_hook(lambda *_: self._add())

    @contextmanager
    def in_place(self, model: Matcher) -> Iterator[None]:
        """The model ready to score with the mean of its weights; afterwards with its own."""
        self._swap()
        model.eval()
        model.prepare()
        yield
        if self._keep:
            self._swap()
            model.prepare()

    @torch.no_grad()
    def _add(self) -> None:
        for weight in self._weights():
            state = self._optimizer.state[weight]
            if not state and weight.grad is None:
                continue  # the optimiser has not seen it either
            steps = state.setdefault("steps of mean", torch.zeros(()))
            mean = state.setdefault("mean", weight.clone())
            # the first steps have nothing behind them that is worth keeping
            mean.lerp_(weight, 1 - min(self._keep, float(steps / (steps + 10))))
            steps += 1

    @torch.no_grad()
    def _swap(self) -> None:
        for weight in self._weights():
            mean = self._optimizer.state[weight].get("mean")
            if mean is not None:
                own = weight.clone()
                weight.copy_(mean)
                mean.copy_(own)

    def _weights(self) -> Iterator[torch.Tensor]:
        for group in self._optimizer.param_groups:
            yield from group["params"]
