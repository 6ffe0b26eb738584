"""The loop: draw groups, score them, lower the loss, look at dev, keep the best."""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from askonce.config import as_dict
from askonce.errors import AskonceError
from askonce.evaluation import Report, evaluate, pools_to_qrels, pools_to_run
from askonce.evaluation.protocols import counted_queries
from askonce.ranker import Ranker
from askonce.training import checkpoint
from askonce.training.batches import Collator, GroupBatch, GroupScorer
from askonce.training.checkpoint import Progress
from askonce.training.denormals import flushed_denormals
from askonce.training.events import Epoch, OnEvent, Step, ignore
from askonce.training.losses import LOSSES
from askonce.training.processes import added_up, alone, own_part
from askonce.training.recipe import Recipe, TrainSettings
from askonce.training.sampling import Group, GroupSampler, split_of
from askonce.types import Dataset, Split

Stop = Callable[[], bool]  # asked after each epoch whether the time is over

SHOWN_POOLS, SHOWN = 200, 10  # pools, and pairs of each, by which inputs are scaled

OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamax": torch.optim.Adamax,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}


@dataclass(frozen=True)
class Outcome:
    """What a run gave: the ranker of its best epoch, and the record of all epochs."""

    ranker: Ranker
    progress: Progress


@flushed_denormals()
def train(
    ranker: Ranker,
    dataset: Dataset,
    recipe: Recipe,
    folder: Path,
    on_event: OnEvent = ignore,
    fabric: Fabric | None = None,
    stop: Stop = lambda: False,
) -> Outcome:
    """Train the ranker's model in place of its folder; a run that was stopped goes on by itself.

    The folder gets the ranker of the best epoch, ``metrics.jsonl`` and ``checkpoint/``. A run that
    ``stop`` ended is over: it does not go on.
    """
    fabric = fabric or alone()
    config = recipe.train
    dev = dev_split(dataset, config.dev)
    sampler = GroupSampler(dataset, config.split or dataset.train, config.negatives, config.seed)
    collator = Collator(ranker.lexicon.numbers, sampler.right)
    trainable = [p for p in ranker.model.parameters() if p.requires_grad]
    optimizer = OPTIMISERS[config.optimiser](_weights(ranker.model, config), lr=config.rate)
    ranker.model.train()  # drops tables, which processes would else go on sharing
    scorer, optimizer = fabric.setup(GroupScorer(ranker.model), optimizer)
    told = as_dict(recipe) | {"weights to start from": checkpoint.fingerprint(ranker.model)}
    fit_inputs(ranker, split_of(dataset, config.split or dataset.train), collator, fabric)
    progress = checkpoint.load(folder / "checkpoint", told, ranker.model, optimizer)
    ranker.model.eval()
    ranker.model.prepare()  # as after an epoch, so that a resumed run scores alike

    while progress.epoch < config.epochs and not progress.done:
        number = progress.epoch + 1
        begin = time.perf_counter()
        # dropout: the same after a resume, another on each process
        torch.manual_seed(1_000_003 * config.seed + number + 15_485_863 * fabric.global_rank)
        for entry in optimizer.param_groups:
            entry["lr"] = rate(config, number)
        groups = sampler.epoch(number, ranker.score_pools)
        total, count = 0.0, 0
        ranker.model.train()
        for some in collator.batches(groups, config.batch_size, 7919 * config.seed + number):
            batch, share = own_batch(some, collator, config, ranker, fabric)
            losses = group_losses(scorer(batch), batch, config)  # (G,)
            loss = losses.sum() * share + penalty(ranker.model, config)
            optimizer.zero_grad()
            fabric.backward(loss)
            if config.clip is not None:
                nn.utils.clip_grad_norm_(trainable, config.clip)
            optimizer.step()
            total, count = total + finite(loss, number) * len(some), count + len(some)
            on_event(Step(number, count, len(groups), total / count))
        ranker.model.eval()
        ranker.model.prepare()
        report = dev_report(ranker, dev, dataset)
        record = {
            "epoch": number,
            # shares are such that the mean over processes is the loss of all groups
            "loss": float(added_up(torch.tensor(total, dtype=torch.float64), fabric))
            / fabric.world_size
            / count,
            "rate": rate(config, number),
            "seconds": round(time.perf_counter() - begin, 3),
            "dev": report.metrics,
        }
        progress.epoch = number
        progress.history.append(record)
        if report.metrics[config.watch] > progress.best_value:
            progress.best_epoch, progress.best_value = number, report.metrics[config.watch]
            _save_best(fabric, ranker, folder, recipe, record)
        progress.done = number - progress.best_epoch >= config.patience or stop()
        _save_progress(fabric, folder, progress, told, ranker, optimizer)
        on_event(Epoch.of(record, progress.best_epoch == number))
    fabric.barrier()
    return Outcome(Ranker.load(folder), progress)


def fit_inputs(ranker: Ranker, pools: Split, collator: Collator, fabric: Fabric) -> None:
    """Show the model some training pairs, spread evenly, so that it can scale its inputs."""
    some = pools[:: max(1, len(pools) // SHOWN_POOLS)]
    groups = [Group(p.query, p.candidates[:SHOWN], p.labels[:SHOWN]) for p in some if p.candidates]
    if groups:
        batch = collator.collate(groups).to(fabric.device)
        views = batch.queries.text, batch.candidates.text
        ranker.model.fit_inputs(
            views[0].select(batch.query_of), views[1].select(batch.candidate_of)
        )


def rate(config: TrainSettings, epoch: int) -> float:
    """The learning rate of an epoch, counted from 1."""
    if config.schedule == "inverse":
        return config.rate / epoch  # λ_T = λ_0 / T
    if config.schedule == "halving":
        return config.rate * 0.5 ** ((epoch - 1) // config.halve_every)
    return config.rate


def own_batch(
    groups: Sequence[Group],
    collator: Collator,
    config: TrainSettings,
    ranker: Ranker,
    fabric: Fabric,
) -> tuple[GroupBatch, float]:
    """This process's share of the groups, and the factor that makes sums over it a global mean.

    Gradients of several processes are averaged, hence the number of processes in the factor.
    """
    in_batch = config.negatives.source == "batch"
    own, busy = own_part(groups, fabric)
    if config.negatives.hardest_of and not in_batch:
        own = mined(own, collator, config, ranker, fabric)
    share = fabric.world_size / len(groups) if busy else 0.0
    batch = collator.collate(own, groups if in_batch else None, config.negatives.others)
    return batch.to(fabric.device), share


def mined(
    groups: Sequence[Group],
    collator: Collator,
    config: TrainSettings,
    ranker: Ranker,
    fabric: Fabric,
) -> list[Group]:
    """The groups with their hardest negatives only, under the model as it is, without dropout."""
    batch = collator.collate(groups).to(fabric.device)
    ranker.model.eval()
    with torch.no_grad():
        scores = GroupScorer(ranker.model)(batch)  # (G, C)
    ranker.model.train()
    wrong = batch.mask & (batch.labels <= 0)
    order = scores.masked_fill(~wrong, -torch.inf).argsort(1, descending=True).tolist()
    counts = wrong.sum(1).clamp_max(config.negatives.count).tolist()
    found = []
    for group, places, count in zip(groups, order, counts, strict=True):
        right = [place for place, label in enumerate(group.labels) if label > 0]
        kept = right + places[:count]
        found.append(
            Group(
                group.query,
                tuple(group.candidates[place] for place in kept),
                tuple(group.labels[place] for place in kept),
            )
        )
    return found


def group_losses(scores: Tensor, batch: GroupBatch, config: TrainSettings) -> Tensor:
    """The loss of each group."""
    loss = LOSSES[config.loss]
    return loss(scores * config.scale, batch.labels, batch.mask, config.margin)  # (G,)


def penalty(model: nn.Module, config: TrainSettings) -> Tensor | float:
    """λ Σ‖p‖ of RCNN's authors; the usual squared form is the optimiser's weight decay."""
    if config.l2 == 0 or config.l2_form == "squared":
        return 0.0
    return config.l2 * sum(weight.norm() for weight in _split_weights(model)[0])


def finite(loss: Tensor, epoch: int) -> float:
    """The loss as a number; an error once it is none, since all weights are lost by then."""
    value = float(loss.detach())
    if not math.isfinite(value):
        raise AskonceError(
            f"the loss became {value} in epoch {epoch}; lower train.rate or set train.clip"
        )
    return value


def dev_split(dataset: Dataset, most: int | None = None) -> Split:
    """What to choose the epoch on; an error, before any work, if no query of it counts."""
    dev = split_of(dataset, "dev")
    if most and most < len(dev):
        dev = [dev[place * len(dev) // most] for place in range(most)]
    counted_queries(pools_to_qrels(dev), dataset.protocol)
    return dev


def dev_report(ranker: Ranker, dev: Split, dataset: Dataset) -> Report:
    """How the ranker does on dev, under the dataset's protocol."""
    run = pools_to_run(dev, ranker.score_pools(dev))
    return evaluate(pools_to_qrels(dev), run, dataset.protocol)


def _split_weights(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """What is trained: the model's own weights, which L2 holds down, and word vectors."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    own = [p for name, p in named if not name.startswith("words.")]
    return own, [p for name, p in named if name.startswith("words.")]


def _weights(model: nn.Module, config: TrainSettings) -> list[dict[str, Any]]:
    """The optimiser's groups. The gradient of λ‖p‖² is 2λp, torch adds weight_decay · p."""
    own, words = _split_weights(model)
    decay = 2 * config.l2 if config.l2_form == "squared" else 0.0
    groups = [
        {"params": own, "weight_decay": decay},
        {"params": words, "weight_decay": 0.0},
    ]
    if not own and not words:
        raise AskonceError("the model has no weight to train; see its settings")
    return [group for group in groups if group["params"]]


def _save_best(
    fabric: Fabric, ranker: Ranker, folder: Path, recipe: Recipe, record: dict[str, Any]
) -> None:
    if fabric.global_rank != 0:
        return
    figures = {f"dev {name}": round(value, 4) for name, value in record["dev"].items()}
    ranker.card = {"dataset": recipe.dataset, "epoch": record["epoch"], **figures}
    with checkpoint.writing(folder):
        ranker.save(folder)


def _save_progress(
    fabric: Fabric,
    folder: Path,
    progress: Progress,
    recipe: dict[str, Any],
    ranker: Ranker,
    optimizer: Any,  # noqa: ANN401 - Fabric's wrapper of an optimiser
) -> None:
    if fabric.global_rank == 0:
        lines = "".join(json.dumps(record) + "\n" for record in progress.history)
        # before the checkpoint: stopped between the two, the epoch is run and logged once more
        with checkpoint.writing(folder / "metrics.jsonl"):
            (folder / "metrics.jsonl").write_text(lines, "utf-8")
        checkpoint.save(folder / "checkpoint", progress, recipe, ranker.model, optimizer)
    fabric.barrier()
