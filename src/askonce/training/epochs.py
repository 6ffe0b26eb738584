"""The epoch loop that every training uses: fine-tuning, pre-training, transformers."""

import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from askonce.errors import AskonceError
from askonce.files import write_atomic
from askonce.training import checkpoint
from askonce.training.checkpoint import EpochRecord, Progress
from askonce.training.events import Epoch, Note, OnEvent, Step, ignore
from askonce.training.processes import (
    Processes,
    broadcast_weights,
    own_part,
    sum_gradients,
    sum_over_processes,
)

Example = TypeVar("Example")
MEAN = "mean"  # of a weight, in the optimiser's state
Stop = Callable[[], bool]  # asked after each step whether to end the run


@dataclass(frozen=True)
class EpochSettings:
    epochs: int
    patience: int  # epochs of training without a better measurement before stopping
    seed: int = 1
    clip: float | None = None  # largest norm of the gradient
    mean: float = 0.0  # decay of the running mean of the weights that is measured; 0 for none


class Loss(NamedTuple):
    """The result of a step on this process's part of a batch."""

    loss: Tensor  # to minimise; the sum over processes is the loss of the batch
    total: float  # the history reports Σ total / Σ units over all steps and processes
    units: float


class Measurement(NamedTuple):
    """What the present weights are worth."""

    value: float  # higher is better; decides which epoch is kept
    figures: dict[str, Any]  # go into the history; "dev" holds the metrics on dev


class Learner(ABC, Generic[Example]):
    """What the loop trains: weights, an optimiser, a step and a measurement."""

    name: str = ""  # NAME.jsonl and NAME-checkpoint; without one metrics.jsonl and checkpoint
    unit: str = ""  # of ``Loss.units``; with one, the history has UNIT_per_second
    module: nn.Module
    optimizer: torch.optim.Optimizer
    processes: Processes
    settings: EpochSettings
    folder: Path  # of the history, the checkpoint and the best weights
    identity: Mapping[str, Any]  # a checkpoint with another identity is refused

    @abstractmethod
    def batches(self, epoch: int) -> Sequence[Sequence[Example]]:
        """The batches of an epoch, counted from 1: the same on every process and after a resume."""

    @abstractmethod
    def step(self, own: Sequence[Example], batch: Sequence[Example]) -> Loss:
        """The loss of this process's examples of a batch; with one process, of all of them.

        Divide by the size of the whole batch. Add what belongs to no example, such as a penalty on
        weights, on the first process only.
        """

    @abstractmethod
    def measure(self) -> Measurement:
        """Measure the weights, which are in evaluation mode; called on every process."""

    @abstractmethod
    def save(self, record: EpochRecord) -> None:
        """Save the weights, the best so far; called on the first process."""

    def rate(self, epoch: int, step: int) -> float:
        """The learning rate of a step, counted from 0 in each epoch."""
        return float(self.optimizer.defaults["lr"])


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """Treat numbers below 1e-38 as zero.

    Gates and their gradients are multiplied over hundreds of words. A CPU computes with what is
    left of them ten times slower, for digits that change no result.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@flushed_denormals()
def run_epochs(
    learner: Learner[Any], on_event: OnEvent = ignore, stop: Stop = lambda: False
) -> Progress:
    """Train until the epochs, the patience or the time is over, and save the best weights.

    Epoch 0 measures the weights before training; they are kept if no later epoch beats them, but do
    not shorten the run: the patience compares trained epochs only. After each epoch the learner's
    folder gets a checkpoint and the history as JSON lines. Call this again with the same folder to
    resume a run that was interrupted: it ends with the same weights. A run that ``stop`` ended is
    complete and does not resume; if that was within an epoch, the weights are measured as they are,
    and the history has the ``part`` of the epoch that was trained. On return, the module has the
    weights of the last epoch; load the best ones from where ``save`` put them.
    """
    module, processes, folder = learner.module, learner.processes, learner.folder
    module.train()  # drops prepared tables, which belong to one device
    module.to(processes.device)
    broadcast_weights(module, processes)
    identity = {**learner.identity, checkpoint.START: checkpoint.fingerprint(module)}
    name = f"{learner.name}-checkpoint" if learner.name else "checkpoint"
    progress = checkpoint.load(folder / name, identity, module, learner.optimizer)
    processes.barrier()  # the first process writes a checkpoint only when all have looked for one
    module.eval()
    while not progress.done:
        number = progress.epoch + 1 if progress.history else 0
        begin = time.perf_counter()
        record: EpochRecord = {"epoch": number}
        if number:
            record |= _train(learner, number, on_event, stop)
        module.eval()
        with _mean_weights(learner.optimizer):
            measurement = learner.measure()
            record |= {"seconds": round(time.perf_counter() - begin, 3), **measurement.figures}
            best = progress.add(record, measurement.value)
            if best and processes.global_rank == 0:
                folder.mkdir(parents=True, exist_ok=True)
                with checkpoint.one_line_errors(folder):
                    learner.save(record)
        progress.done = (
            number >= learner.settings.epochs
            or progress.waiting >= learner.settings.patience
            or (number > 0 and stop())
        )
        if processes.global_rank == 0:
            with checkpoint.one_line_errors(folder):
                # before the checkpoint: interrupted between the two, the epoch is run again
                lines = "".join(json.dumps(record) + "\n" for record in progress.history)
                write_atomic(folder / f"{learner.name or 'metrics'}.jsonl", lines)
            checkpoint.save(folder / name, progress, identity, module, learner.optimizer)
        processes.barrier()
        on_event(Epoch.of(record, best))
    if progress.best_epoch == 0:
        on_event(Note("training did not improve on the weights it started from; these are kept"))
    return progress


def _train(learner: Learner[Any], epoch: int, on_event: OnEvent, stop: Stop) -> dict[str, float]:
    """Train for one epoch, or for the part of it until ``stop``; returns its loss and rate."""
    processes, optimizer, settings = learner.processes, learner.optimizer, learner.settings
    begin = time.perf_counter()
    # dropout: the same after a resume, another on each process
    processes.seed(1_000_003 * settings.seed + epoch + 15_485_863 * processes.global_rank)
    weights = [weight for weight in learner.module.parameters() if weight.requires_grad]
    batches = learner.batches(epoch)
    size = sum(map(len, batches))
    learner.module.train()
    total, count, done = 0.0, 0.0, 0
    for index, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = learner.rate(epoch, index)
        optimizer.zero_grad()
        if own := own_part(batch, processes):
            result = learner.step(own, batch)
            result.loss.backward()  # type: ignore[no-untyped-call]
            total, count = total + _finite(result.total, epoch), count + result.units
        sum_gradients(weights, processes)
        if settings.clip is not None:
            nn.utils.clip_grad_norm_(weights, settings.clip)
        optimizer.step()
        if settings.mean:
            _follow_mean(optimizer, weights, settings.mean)
        done += len(batch)
        on_event(Step(epoch, done, size, total / max(count, 1)))
        if stop():
            break
    total, count = sum_over_processes(
        torch.tensor([total, count], dtype=torch.float64), processes
    ).tolist()
    speed = round(count / (time.perf_counter() - begin))
    return {
        "loss": total / count,
        "rate": learner.rate(epoch, 0),
        **({f"{learner.unit}_per_second": speed} if learner.unit else {}),
        **({"part": round(done / size, 4)} if done < size else {}),
    }


def _follow_mean(
    optimizer: torch.optim.Optimizer, weights: Sequence[nn.Parameter], decay: float
) -> None:
    """Update m ← decay · m + (1 - decay) · w in the optimiser's state, so in the checkpoint too."""
    for weight in weights:
        state = optimizer.state[weight]
        if MEAN in state:
            state[MEAN].lerp_(weight.detach(), 1 - decay)
        else:
            state[MEAN] = weight.detach().clone()


@contextmanager
def _mean_weights(optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Put the running means in place of the weights, if there are any; then the weights back."""
    means = [(weight, state[MEAN]) for weight, state in optimizer.state.items() if MEAN in state]
    trained = [weight.detach().clone() for weight, _ in means]
    for weight, mean in means:
        weight.data.copy_(mean)
    try:
        yield
    finally:
        for (weight, _), value in zip(means, trained, strict=True):
            weight.data.copy_(value)


def _finite(total: float, epoch: int) -> float:
    if not math.isfinite(total):
        raise AskonceError(
            f"the loss became {total} in epoch {epoch}; lower train.rate (pretrain.rate for "
            "pre-training) or set train.clip"
        )
    return total
