"""Pre-training of question encoders (Lei et al. 2016, section 4.2) on titles and bodies alone."""

import importlib.util
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor

from askonce.config import as_dict
from askonce.errors import AskonceError, ConfigError
from askonce.models.encoder_decoder import EncoderDecoder
from askonce.models.question_encoders import QuestionEncoder
from askonce.ranker import Ranker
from askonce.text.batch import View
from askonce.training import checkpoint
from askonce.training.checkpoint import Progress
from askonce.training.denormals import flushed_denormals
from askonce.training.epochs import Stop
from askonce.training.events import Epoch, OnEvent, Step, ignore
from askonce.training.pretraining.figures import (
    Coded,
    HeldOut,
    KnownWords,
    TitleRanking,
    batches,
)
from askonce.training.pretraining.pairs import pretraining_pairs
from askonce.training.pretraining.plot import draw
from askonce.training.processes import added_up, alone, own_part
from askonce.types import Dataset

MODELS = ("rcnn", "lstm", "gru")  # section 4.2; the paper's CNN learns from marked pairs only
BUCKET = 20  # batches whose examples are sorted by length together
CHECKPOINT = "pretraining-checkpoint"
History = list[dict[str, Any]]


@dataclass(frozen=True)
class PretrainSettings:
    """How the encoder-decoder is trained; the dropout is the encoder's. "code": of the authors."""

    epochs: int = 50
    batch_size: int = 256  # code; of each process
    rate: float = 1e-3  # code; Adam
    l2: float = 1e-5  # code: λ Σ‖p‖
    patience: int = 8  # code: epochs without a better dev MRR before stopping
    sampled: int = 0  # words that stand for the vocabulary while training; 0 for all words
    seed: int = 1

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("patience", 1), ("sampled", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} = {getattr(self, name)}; expected at least {least}")


@flushed_denormals()
def pretrain(
    ranker: Ranker,
    dataset: Dataset,
    settings: PretrainSettings,
    folder: Path,
    on_event: OnEvent = ignore,
    fabric: Fabric | None = None,
    stop: Stop = lambda: False,
) -> History:
    """Train the ranker's encoder to foretell titles; a run that was stopped goes on by itself.

    The folder gets the ranker of the best epoch, with which fine-tuning starts,
    ``pretraining.jsonl``, ``pretraining.png`` where matplotlib is installed, and
    ``pretraining-checkpoint/``. The history begins with epoch 0, before any training.
    """
    encoder = pretrainable(ranker)
    material = Material(ranker, encoder, dataset, settings.seed)
    model = seeded(encoder, settings)
    trainer = Trainer(model, settings, fabric or alone())
    told = as_dict(settings) | {"dataset": dataset.name, "model": as_dict(encoder.config)}
    progress = checkpoint.load(folder / CHECKPOINT, told, model, trainer.optimizer)
    if not progress.history:
        progress.history.append({"epoch": 0, **material.figures(model)})
        on_event(Epoch.of(progress.history[0], best=False))

    while progress.epoch < settings.epochs and not progress.done:
        number = progress.epoch + 1
        begin = time.perf_counter()
        # dropout: the same after a resume, another on each process
        rank = trainer.fabric.global_rank
        torch.manual_seed(1_000_003 * settings.seed + number + 15_485_863 * rank)
        model.train()
        total, words, done = 0.0, 0, 0
        size = settings.batch_size * trainer.fabric.world_size
        for batch in shuffled(material.train, size, (settings.seed, number)):
            for sources, targets in contexts(batch):
                nll, count = trainer.update(sources, targets)
                total, words = total + nll, words + count
            done += len(batch)
            on_event(Step(number, done, len(material.train), total / max(words, 1)))
        seen = torch.tensor([total, words], dtype=torch.float64)
        total, words = added_up(seen, trainer.fabric).tolist()
        record = {
            "epoch": number,
            "loss": total / words,
            "words_per_second": round(words / (time.perf_counter() - begin)),  # of titles, guessed
            **material.figures(model),
        }
        record["seconds"] = round(time.perf_counter() - begin, 3)
        progress.epoch = number
        progress.history.append(record)
        if record["dev"]["MRR"] > progress.best_value:
            progress.best_epoch, progress.best_value = number, record["dev"]["MRR"]
        progress.done = number - progress.best_epoch >= settings.patience or stop()
        if trainer.writes:
            save(folder, progress, told, trainer, ranker)
        trainer.fabric.barrier()
        on_event(Epoch.of(record, progress.best_epoch == number))
    if trainer.writes and importlib.util.find_spec("matplotlib"):
        draw({ranker.name: progress.history}, folder / "pretraining.png")
    return progress.history


def pretrainable(ranker: Ranker) -> QuestionEncoder:
    """The ranker's model, if the paper pre-trains such a one."""
    if ranker.name not in MODELS or not isinstance(ranker.model, QuestionEncoder):
        raise AskonceError(
            f"{ranker.name!r} cannot be pre-trained; the models that can are {', '.join(MODELS)}"
        )
    return ranker.model


def seeded(encoder: QuestionEncoder, settings: PretrainSettings) -> EncoderDecoder:
    """The encoder with a fresh decoder, the same for the same seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return EncoderDecoder(encoder, settings.sampled)


class Material:
    """The examples of a dataset as numbers, and what is measured on it after each epoch."""

    def __init__(
        self, ranker: Ranker, encoder: QuestionEncoder, dataset: Dataset, seed: int
    ) -> None:
        pairs = pretraining_pairs(dataset, seed)
        words = KnownWords(ranker.lexicon, encoder.config.body_words)
        self.train = words.examples(pairs.train)
        self._heldout = HeldOut(words.examples(pairs.heldout))
        self._dev = TitleRanking(dataset, words)
        if not self.train or not self._heldout.words:
            raise AskonceError(f"too few texts of {dataset.name!r} have known words; see min_count")
        size = len(ranker.lexicon.vocabulary)
        unigram = self._heldout.unigram_perplexity(self.train, size)
        self._fixed = {"unigram_perplexity": unigram, "vocabulary": size}

    def figures(self, model: EncoderDecoder) -> dict[str, Any]:
        """Held-out perplexity beside a unigram model's, and the dev figures of titles alone."""
        found = {"perplexity": self._heldout.perplexity(model), **self._fixed}
        return found | {"dev": self._dev.metrics(model.encoder)}


class Trainer:
    """Lowers the loss of one context of one batch."""

    def __init__(self, model: EncoderDecoder, settings: PretrainSettings, fabric: Fabric) -> None:
        self.model, self.fabric, self._l2 = model, fabric, settings.l2
        self._weights = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.Adam(self._weights, lr=settings.rate)
        self._wrapped, self.optimizer = fabric.setup(model, optimizer)

    @property
    def writes(self) -> bool:
        """Whether this process is the one that writes files."""
        return self.fabric.global_rank == 0

    def update(
        self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]
    ) -> tuple[float, int]:
        """One step of the optimiser; gives Σ -ln p of this process's texts and their words."""
        own, busy = own_part(list(zip(sources, targets, strict=True)), self.fabric)
        texts, titles = zip(*own, strict=True)
        nll = self._wrapped(self._view(texts), self._view(titles))
        # gradients of several processes are averaged, hence their number in the factor
        share = self.fabric.world_size / len(targets) if busy else 0.0
        self.optimizer.zero_grad()
        self.fabric.backward(nll * share + self._penalty())
        self.optimizer.step()
        return (float(nll.detach()), sum(len(words) + 1 for words in titles)) if busy else (0.0, 0)

    def _view(self, texts: Sequence[np.ndarray]) -> View:
        return View.of(texts).to(self.fabric.device)

    def _penalty(self) -> Tensor:
        return self._l2 * torch.stack([weight.norm() for weight in self._weights]).sum()


def shuffled(
    examples: Sequence[Coded], size: int, seed: tuple[int, int]
) -> Iterator[Sequence[Coded]]:
    """Batches of like length in random order."""
    rng = np.random.default_rng(seed)
    order = [examples[place] for place in rng.permutation(len(examples))]
    found = []
    for some in batches(order, BUCKET * size):
        found += list(batches(sorted(some, key=lambda example: len(example.body)), size))
    for place in rng.permutation(len(found)):
        yield found[place]


def contexts(batch: Sequence[Coded]) -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
    """The titles with their targets, then the bodies with theirs: two updates of a batch."""
    for side in (0, 1):
        some = [example for example in batch if len(example[side])]
        if some:
            yield [example[side] for example in some], [example.target for example in some]


def save(
    folder: Path, progress: Progress, told: dict[str, Any], trainer: Trainer, ranker: Ranker
) -> None:
    """Write the ranker if it is the best so far, then the checkpoint and a line for each epoch.

    The decoder is part of the checkpoint only.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if progress.best_epoch == progress.epoch:
        ranker.card = {
            "pre-trained on": told["dataset"],
            "epoch": progress.epoch,
            "held-out perplexity": round(progress.history[-1]["perplexity"], 2),
            "dev MRR of titles": round(progress.best_value, 4),
        }
        ranker.save(folder)
    checkpoint.save(folder / CHECKPOINT, progress, told, trainer.model, trainer.optimizer)
    lines = "".join(json.dumps(record) + "\n" for record in progress.history)
    (folder / "pretraining.jsonl").write_text(lines, "utf-8")
