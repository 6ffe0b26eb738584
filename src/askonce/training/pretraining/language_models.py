"""Pre-training for CABIN and ELMo: a language model of the queries and one of the candidates."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
from annotated_types import Lt

from askonce.config import AboveZero, AtLeastOne, as_dict
from askonce.errors import AskonceError, ConfigError
from askonce.models.base import SIDES, EmbeddingInit, Side, seeded
from askonce.models.language_model import (
    LanguageLosses,
    LanguageModel,
    LanguageModelReader,
    perplexity,
)
from askonce.ranker import Ranker
from askonce.text.batch import View
from askonce.training.batches import shuffled, slices
from askonce.training.checkpoint import EpochRecord, load_weights, save_weights
from askonce.training.epochs import EpochSettings, Learner, Loss, Measurement, run_epochs
from askonce.training.events import OnEvent, Phase, ignore
from askonce.training.fine_tuning import OPTIMISERS, halved
from askonce.training.processes import ALONE, Processes
from askonce.training.sampling import split_of
from askonce.types import Dataset, Post, candidates


@dataclass(frozen=True)
class LanguageModelSettings:
    """Training of the language models; section 5.3 of the paper, ours where it differs."""

    # the paper: sgd at rate 0.1, which reaches a perplexity of 1,120 on WikiQA's questions after
    # three epochs (mean of both directions); Adam is below 620 after one
    optimiser: Literal["adam", "sgd"] = "adam"
    rate: AboveZero = 3e-3
    halve_every: AtLeastOne = 5  # epochs; the paper: "halved after 5 epochs"
    batch_size: AtLeastOne = 50  # texts of each process
    clip: AboveZero = 5.0  # largest norm of the gradient
    epochs: AtLeastOne = 10  # the paper does not say
    patience: AtLeastOne = 2  # epochs without lower held-out perplexity before stopping
    held_out: Annotated[AboveZero, Lt(1)] = 0.05  # share of the texts
    split: str | None = None  # None is the dataset's own training split
    seed: int = 1


def pretrain_language_models(
    ranker: Ranker,
    dataset: Dataset,
    settings: LanguageModelSettings,
    folder: Path,
    on_event: OnEvent = ignore,
    processes: Processes = ALONE,
) -> list[EpochRecord]:
    """Train language models of queries and of candidates, without any label.

    The folder gets the ranker, from which fine-tuning starts, and for each side the history, a
    checkpoint and the weights of the best epoch; an interrupted run resumes. Returns the history
    of both sides.
    """
    if not isinstance(ranker.model, LanguageModelReader):
        raise ConfigError(f"{ranker.name!r} has no language models to train; cabin and elmo have")
    texts = texts_to_read(dataset, settings.split or dataset.train)
    learners = []
    for side in SIDES:
        ids = [post.text for post in ranker.lexicon.read(texts[side])]
        learners.append(LanguageModelling(ranker, ids, settings, side, folder, processes))
    # here too, so that models that do not fit fail before any work
    ranker.model.load_language_models(*(learner.module for learner in learners))
    history: list[EpochRecord] = []
    for learner in learners:
        on_event(Phase(learner.name))
        history += run_epochs(learner, on_event).history
    ranker.model.load_language_models(*(learner.best() for learner in learners))
    ranker.card = {"dataset": dataset.name, "pre-trained": "language models", **_best(history)}
    if processes.global_rank == 0:
        ranker.save(folder)
    processes.barrier()
    return history


def texts_to_read(dataset: Dataset, split: str) -> dict[Side, list[Post]]:
    """The training texts of the language models.

    The queries and candidates of the split, and the rest of the corpus except what other splits
    contain, so that figures on dev and test are for unseen texts.
    """
    own = split_of(dataset, split)
    others = [pool for pools in dataset.splits.values() if pools is not own for pool in pools]
    read = {post.id: post for post in candidates(own)}
    excluded = {post.id for post in candidates(others)} | {pool.query.id for pool in others}
    for post in dataset.corpus:
        if post.id not in excluded:
            read.setdefault(post.id, post)
    return {"query": [pool.query for pool in own], "candidate": list(read.values())}


def split_texts(
    texts: Sequence[np.ndarray], share: float, seed: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Distinct texts with words, for training and held out; a hash decides, not the order."""
    distinct = {text.tobytes(): text for text in texts if len(text)}
    if len(distinct) < 2:
        raise AskonceError(
            f"{len(distinct)} distinct texts with words; a language model needs one to train on "
            "and one to measure"
        )
    key = str(seed).encode()
    order = sorted(distinct, key=lambda text: hashlib.blake2b(text, key=key).digest())
    count = min(max(1, round(share * len(order))), len(order) - 1)
    return [distinct[text] for text in order[count:]], [distinct[text] for text in order[:count]]


class LanguageModelling(Learner[np.ndarray]):
    """Lowers the perplexity of one side's texts."""

    unit = "words"

    def __init__(
        self,
        ranker: Ranker,
        texts: Sequence[np.ndarray],
        settings: LanguageModelSettings,
        side: Side,
        folder: Path,
        processes: Processes,
    ) -> None:
        self.name, self.processes = f"{side}-language-model", processes
        self._options, self._side, self.folder = settings, side, folder
        self.settings = EpochSettings(
            settings.epochs, settings.patience, settings.seed, settings.clip
        )
        self._best = folder / f"{self.name}.safetensors"
        self._train, self._held_out = split_texts(texts, settings.held_out, settings.seed)
        config, vectors = ranker.model.config, ranker.model.get_parameter("words.weight")
        words = EmbeddingInit.of(ranker.lexicon.vocabulary, vectors.detach().numpy())
        with seeded(2 * settings.seed + SIDES.index(side)):
            self.module: LanguageModel = LanguageModel(words, config.hidden, config.layers)
        weights = [weight for weight in self.module.parameters() if weight.requires_grad]
        self.optimizer = OPTIMISERS[settings.optimiser](weights, lr=settings.rate)
        self.identity = {
            **as_dict(settings),
            "hidden, layers": [config.hidden, config.layers],
            "texts": len(texts),
        }

    def batches(self, epoch: int) -> Sequence[Sequence[np.ndarray]]:
        size = self._options.batch_size * self.processes.world_size
        return shuffled(self._train, size, len, (self._options.seed, epoch))

    def rate(self, epoch: int, step: int) -> float:
        return halved(self._options.rate, epoch, self._options.halve_every)

    def step(self, own: Sequence[np.ndarray], batch: Sequence[np.ndarray]) -> Loss:
        """-ln p of both directions, in the mean over the words of the batch."""
        forward, backward, words = self._losses(own)
        both = forward + backward
        return Loss(both / sum(map(len, batch)), float(both.detach()) / 2, words)

    @torch.inference_mode()
    def measure(self) -> Measurement:
        """Perplexity of held-out texts in each direction; the geometric mean decides."""
        losses = [
            self._losses(batch)
            for batch in slices(sorted(self._held_out, key=len), self._options.batch_size)
        ]
        words = sum(batch.words for batch in losses)
        rightward = perplexity(sum(float(batch.forward) for batch in losses), words)
        leftward = perplexity(sum(float(batch.backward) for batch in losses), words)
        figures = {"rightward_perplexity": rightward, "leftward_perplexity": leftward}
        return Measurement(1 / math.sqrt(rightward * leftward), {"side": self._side, **figures})

    def save(self, record: EpochRecord) -> None:
        """Save the recurrence, which is all that CABIN takes over."""
        save_weights(self._best, self.module.recurrence)

    def best(self) -> LanguageModel:
        load_weights(self._best, self.module.recurrence)
        return self.module

    def _losses(self, texts: Sequence[np.ndarray]) -> LanguageLosses:
        return self.module.losses(View.of(texts).to(self.processes.device))


def _best(history: Sequence[EpochRecord]) -> dict[str, str]:
    """The lowest held-out perplexities of each side, for the model card."""
    best = {}
    for side in SIDES:
        pairs = [
            (record["rightward_perplexity"], record["leftward_perplexity"])
            for record in history
            if record["side"] == side
        ]
        best[f"{side} perplexity"] = ", ".join(f"{x:.1f}" for x in min(pairs, key=math.prod))
    return best
