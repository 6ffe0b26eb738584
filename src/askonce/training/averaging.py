"""Average the weights of several trainings that began with the same weights."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from askonce.training.epochs import Stop
from askonce.training.events import OnEvent, ignore
from askonce.training.fine_tuning import FineTuning, TrainedRanker, fit


def fit_mean(
    count: int,
    training: Callable[[int], FineTuning],
    folder: Path,
    on_event: OnEvent = ignore,
    stop: Stop = lambda: False,
) -> TrainedRanker:
    """Train ``count`` times and save the mean in the folder, with the history of the first.

    ``training`` gives the one of a number, from 0. Once ``stop`` says so, no new one begins.
    """
    first = training(0)
    trained = [fit(first, on_event, stop)]
    while len(trained) < count and not stop():
        trained.append(fit(training(len(trained)), on_event, stop))
    first.module.load_state_dict(mean_weights(trained))
    measured, progress = first.measure(), trained[0].progress
    if first.processes.global_rank == 0:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(first.folder / "metrics.jsonl", folder)
        first.folder = folder
        first.save({"epoch": progress.best_epoch, **measured.figures})
    first.processes.barrier()
    return TrainedRanker(first.ranker, replace(progress, best_value=measured.value))


def mean_weights(trainings: Sequence[TrainedRanker]) -> dict[str, Tensor]:
    """The mean weights of the trainings that improved on the start, or those of the start.

    They began with the same weights, so the mean is a model of the same kind. It is better than
    most of them, without choosing one by chance on a small dev set.
    """
    better = [one for one in trainings if one.progress.best_epoch] or trainings[:1]
    states = [one.ranker.model.state_dict() for one in better]
    return {key: torch.stack([state[key] for state in states]).mean(0) for key in states[0]}
