"""Fine-tuning: train a ranker on labelled pools and keep the epoch that is best on dev."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from askonce.config import as_dict
from askonce.errors import AskonceError
from askonce.evaluation import Report, evaluate, pools_to_qrels, pools_to_run
from askonce.evaluation.metrics import counted_queries
from askonce.models.base import States
from askonce.ranker import Ranker
from askonce.text.batch import TokenIds
from askonce.text.lexicon import Lexicon
from askonce.training.batches import Collator, GroupBatch, GroupScorer
from askonce.training.checkpoint import EpochRecord, Progress
from askonce.training.epochs import EpochSettings, Learner, Loss, Measurement, Stop, run_epochs
from askonce.training.events import OnEvent, ignore
from askonce.training.losses import LOSSES
from askonce.training.processes import ALONE, Processes
from askonce.training.recipe import Recipe, TrainSettings
from askonce.training.sampling import UNLABELLED, Group, GroupSampler, split_of
from askonce.types import Dataset, Post, Split, evenly_spaced

SAMPLE_POOLS, SAMPLE_PAIRS = 200, 10  # pools, and pairs of each, on which feature scaling is fitted

OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamax": torch.optim.Adamax,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}


@dataclass(frozen=True)
class TrainedRanker:
    ranker: Ranker
    progress: Progress


def train(
    ranker: Ranker,
    dataset: Dataset,
    recipe: Recipe,
    folder: Path,
    on_event: OnEvent = ignore,
    processes: Processes = ALONE,
    stop: Stop = lambda: False,
) -> TrainedRanker:
    """Train the ranker's model by a recipe; an interrupted run resumes.

    The folder gets the ranker of the best epoch, ``metrics.jsonl`` and ``checkpoint/``.
    """
    return fit(FineTuning(ranker, dataset, recipe, folder, processes), on_event, stop)


def fit(
    learner: "FineTuning", on_event: OnEvent = ignore, stop: Stop = lambda: False
) -> TrainedRanker:
    progress = run_epochs(learner, on_event, stop)
    return TrainedRanker(Ranker.load(learner.folder), progress)


class Beside(Protocol):
    """A teacher that a student learns from beside the labels."""

    @property
    def identity(self) -> Sequence[Any]:
        """What decides its losses, as plain values."""

    def numbers(self, lexicon: Lexicon, posts: Sequence[Post]) -> list[TokenIds]:
        """Posts as the student reads them, with what the losses need of them."""

    def read(self, groups: Sequence[Group]) -> None:
        """Read the groups of an epoch, which begins now."""

    def losses(
        self, states: tuple[States, States], scores: Tensor, batch: GroupBatch, own: Sequence[Group]
    ) -> Tensor:
        """The loss of each group (G,), of the states of its texts and of its scores (G, C)."""


class FineTuning(Learner[Group]):
    """Lowers the loss of groups: queries with right and wrong candidates.

    A student learns ``beside`` its teacher: the teacher's loss is added to that of the labels.
    """

    def __init__(
        self,
        ranker: Ranker,
        dataset: Dataset,
        recipe: Recipe,
        folder: Path,
        processes: Processes = ALONE,
        beside: Beside | None = None,
    ) -> None:
        config = recipe.train
        self.settings = EpochSettings(
            config.epochs, config.patience, config.seed, config.clip, config.mean
        )
        self.module, self.processes, self.identity = ranker.model, processes, as_dict(recipe)
        self._beside = beside
        read: Callable[[Sequence[Post]], list[TokenIds]] = ranker.lexicon.read
        if beside is not None:
            self.identity |= {"beside": list(beside.identity)}
            read = partial(beside.numbers, ranker.lexicon)
        self.ranker, self._dataset, self._recipe, self._config = ranker, dataset, recipe, config
        self.folder = folder
        self._dev = dev_split(dataset, config.dev)
        split = config.split or dataset.train
        self._sampler = GroupSampler(
            dataset, split, config.negatives, config.seed, config.positives
        )
        self._collator = Collator(read, self._sampler.right)
        # a student learns all word vectors, which is most of a step: fused, it takes a third
        fused = {"fused": True} if beside is not None and config.optimiser == "adam" else {}
        self.optimizer = OPTIMISERS[config.optimiser](
            parameter_groups(ranker.model, config), lr=config.rate, **fused
        )
        self._scorer = GroupScorer(ranker.model)
        fit_inputs(ranker, split_of(dataset, split), self._collator)

    def batches(self, epoch: int) -> Sequence[Sequence[Group]]:
        """Sample the groups of the epoch; some samplers rank pools by the present weights."""
        config = self._config
        if config.negatives.source == "mix":
            self.ranker.model.prepare()  # also after a resume, so that scores are the same
        groups = self._sampler.epoch(epoch, self.ranker.score_pools)
        if self._beside is not None:
            self._beside.read(groups)
        return self._collator.batches(groups, config.batch_size, 7919 * config.seed + epoch)

    def rate(self, epoch: int, step: int) -> float:
        """As the recipe's schedule says; the same for all steps of an epoch."""
        return rate(self._config, epoch)

    def step(self, own: Sequence[Group], batch: Sequence[Group]) -> Loss:
        negatives, device = self._config.negatives, self.processes.device
        in_batch = negatives.source == "batch"
        if negatives.hardest_of and not in_batch:
            own = mined(own, self._collator, negatives.count, self.ranker, device)
        groups = self._collator.collate(own, batch if in_batch else None, negatives.others)
        groups = groups.to(device)
        states = self._scorer.read(groups)
        scores = self._scorer.match(*states, groups)  # (G, C)
        losses = group_losses(scores, groups, self._config)  # (G,)
        if any(group.weight != 1 for group in own):
            losses = losses * losses.new_tensor([group.weight for group in own])
        if self._beside is not None:
            scaled = scores * self._config.scale
            losses = losses + self._beside.losses(states, scaled, groups, own)
        loss = batch_loss(losses, groups, batch, self._config)
        if self.processes.global_rank == 0:
            loss = loss + penalty(self.ranker.model, self._config)
        return Loss(loss, float(loss.detach()) * len(batch), len(own))

    def measure(self) -> Measurement:
        self.ranker.model.prepare()
        metrics = dev_report(self.ranker, self._dev, self._dataset).metrics
        return Measurement(metrics[self._config.watch], {"dev": metrics})

    def save(self, record: EpochRecord) -> None:
        figures = {f"dev {name}": round(value, 4) for name, value in record["dev"].items()}
        self.ranker.card = {"dataset": self._recipe.dataset, "epoch": record["epoch"], **figures}
        self.ranker.save(self.folder)


def fit_inputs(ranker: Ranker, pools: Split, collator: Collator) -> None:
    """Fit feature scaling on a sample of training pairs, spread evenly over the pools."""
    if ranker.model.reads == "vectors":
        return  # a teacher's vectors need none, and reading more texts takes long
    sample = pools[:: max(1, len(pools) // SAMPLE_POOLS)]
    groups = [
        Group(pool.query, pool.candidates[:SAMPLE_PAIRS], pool.labels[:SAMPLE_PAIRS])
        for pool in sample
        if pool.candidates
    ]
    if groups:
        batch = collator.collate(groups)
        query, candidate = batch.queries.text, batch.candidates.text
        ranker.model.fit_inputs(query.select(batch.query_of), candidate.select(batch.candidate_of))


def rate(config: TrainSettings, epoch: int) -> float:
    """The learning rate of an epoch, counted from 1."""
    if config.schedule == "inverse":
        return config.rate / epoch  # λ_T = λ_0 / T
    if config.schedule == "halving":
        return halved(config.rate, epoch, config.halve_every)
    return config.rate


def halved(rate: float, epoch: int, every: int) -> float:
    """The rate, halved after every ``every`` epochs."""
    return float(rate * 0.5 ** ((epoch - 1) // every))


def mined(
    groups: Sequence[Group],
    collator: Collator,
    count: int,
    ranker: Ranker,
    device: torch.device | str,
) -> list[Group]:
    """Keep the ``count`` negatives of each group that score highest now, without dropout."""
    batch = collator.collate(groups).to(device)
    ranker.model.eval()
    with torch.no_grad():
        scores = GroupScorer(ranker.model)(batch)  # (G, C)
    ranker.model.train()
    wrong = batch.mask & (batch.labels <= 0)
    order = scores.masked_fill(~wrong, -torch.inf).argsort(1, descending=True).tolist()
    counts = wrong.sum(1).clamp_max(count).tolist()
    return [
        _selected(group, [n for n, label in enumerate(group.labels) if label > 0] + hardest[:most])
        for group, hardest, most in zip(groups, order, counts, strict=True)
    ]


def _selected(group: Group, columns: Sequence[int]) -> Group:
    candidates = tuple(group.candidates[column] for column in columns)
    return group._replace(candidates=candidates, labels=tuple(group.labels[n] for n in columns))


def group_losses(scores: Tensor, batch: GroupBatch, config: TrainSettings) -> Tensor:
    """The loss of each group, of its candidates that have a label."""
    loss, mask = LOSSES[config.loss], batch.mask & (batch.labels != UNLABELLED)  # (G, C)
    return loss(scores * config.scale, batch.labels, mask, config.margin)  # (G,)


def batch_loss(
    losses: Tensor, own: GroupBatch, batch: Sequence[Group], config: TrainSettings
) -> Tensor:
    """This process's part of the mean over the questions, or over the pairs, of the whole batch."""
    if config.average == "questions":
        return losses.sum() / len(batch)
    pairs = sum(label != UNLABELLED for group in batch for label in group.labels)
    weights = (own.mask & (own.labels != UNLABELLED)).sum(1)  # (G,)
    return (losses * weights).sum() / pairs  # a group's loss is the mean over its pairs


def penalty(model: nn.Module, config: TrainSettings) -> Tensor | float:
    """λ Σ‖p‖ of RCNN's authors; the usual squared form is the optimiser's weight decay."""
    if config.l2 == 0 or config.l2_form == "squared":
        return 0.0
    return config.l2 * sum(weight.norm() for weight in _own_and_words(model)[0])


def dev_split(dataset: Dataset, limit: int | None = None) -> Split:
    """The dev pools that choose the epoch; an error if none of them counts for the metrics."""
    dev = split_of(dataset, dataset.dev)
    dev = evenly_spaced(dev, limit) if limit else dev
    counted_queries(pools_to_qrels(dev), dataset.protocol)
    return dev


def dev_report(ranker: Ranker, dev: Split, dataset: Dataset) -> Report:
    run = pools_to_run(dev, ranker.score_pools(dev))
    return evaluate(pools_to_qrels(dev), run, dataset.protocol)


def parameter_groups(model: nn.Module, config: TrainSettings) -> list[dict[str, Any]]:
    """The optimiser's groups. The gradient of λ‖p‖² is 2λp, torch adds weight_decay · p."""
    own, words = _own_and_words(model)
    decay = 2 * config.l2 if config.l2_form == "squared" else 0.0
    groups = [{"params": own, "weight_decay": decay}, {"params": words, "weight_decay": 0.0}]
    if not own and not words:
        raise AskonceError("the model has no weights to train; see its settings")
    return [group for group in groups if group["params"]]


def _own_and_words(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The trainable weights: the model's own, which L2 penalises, and the word vectors."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    own = [p for name, p in named if not name.startswith("words.")]
    return own, [p for name, p in named if name.startswith("words.")]
