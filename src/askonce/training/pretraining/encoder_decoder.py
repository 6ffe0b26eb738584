"""Pre-training of question encoders (Lei et al. 2016, section 4.2): generate titles from texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from askonce.config import AtLeastOne, as_dict
from askonce.errors import AskonceError
from askonce.models.base import seeded
from askonce.models.encoder_decoder import EncoderDecoder
from askonce.models.question_encoders import QuestionEncoder
from askonce.ranker import Ranker
from askonce.text.batch import View
from askonce.training.batches import shuffled
from askonce.training.checkpoint import EpochRecord
from askonce.training.epochs import EpochSettings, Learner, Loss, Measurement, Stop, run_epochs
from askonce.training.events import OnEvent, ignore
from askonce.training.pretraining.figures import (
    EncodedExample,
    HeldOutTitles,
    KnownWords,
    TitleRanking,
)
from askonce.training.pretraining.pairs import pretraining_pairs
from askonce.training.processes import ALONE, Processes
from askonce.types import Dataset

MODELS = ("rcnn", "lstm", "gru")  # section 4.2; the paper trains its CNN on labelled pairs only

SourceAndTitle = tuple[
    np.ndarray, np.ndarray
]  # the words of a source text, and of the title to generate


@dataclass(frozen=True)
class PretrainSettings:
    """Training of the encoder-decoder; the dropout is the encoder's. "code": of the authors."""

    epochs: AtLeastOne = 50
    batch_size: AtLeastOne = 256  # code; of each process
    rate: float = 1e-3  # code; Adam
    l2: float = 1e-5  # code: λ Σ‖p‖
    patience: AtLeastOne = 8  # code: epochs without a better dev MRR before stopping
    seed: int = 1


def pretrain(
    ranker: Ranker,
    dataset: Dataset,
    settings: PretrainSettings,
    folder: Path,
    on_event: OnEvent = ignore,
    processes: Processes = ALONE,
    stop: Stop = lambda: False,
) -> list[EpochRecord]:
    """Train the ranker's encoder to generate titles; an interrupted run resumes.

    The folder gets the ranker of the best epoch, with which fine-tuning starts,
    ``pretraining.jsonl`` and ``pretraining-checkpoint/``. Returns the history.
    """
    learner = TitleGeneration(ranker, dataset, settings, folder, processes)
    return run_epochs(learner, on_event, stop).history


class TitleGeneration(Learner[SourceAndTitle]):
    """Lowers the perplexity of titles, given a title or a body."""

    name, unit = "pretraining", "words"  # of titles

    def __init__(
        self,
        ranker: Ranker,
        dataset: Dataset,
        settings: PretrainSettings,
        folder: Path,
        processes: Processes,
    ) -> None:
        encoder = pretrainable(ranker)
        self._ranker, self._options, self.folder = ranker, settings, folder
        self.settings = EpochSettings(settings.epochs, settings.patience, settings.seed)
        self.processes, self._dataset_name = processes, dataset.name
        pairs = pretraining_pairs(dataset, settings.seed)
        words = KnownWords(ranker.lexicon, encoder.config.body_words)
        self._train = words.examples(pairs.train)
        self._heldout = HeldOutTitles(words.examples(pairs.heldout))
        self._dev = TitleRanking(dataset, words)
        if not self._train or not self._heldout.words:
            raise AskonceError(f"too few texts of {dataset.name!r} have known words; see min_count")
        size = len(ranker.lexicon.vocabulary)
        unigram = self._heldout.unigram_perplexity(self._train, size)
        self._constants = {"unigram_perplexity": unigram, "vocabulary": size}
        with seeded(settings.seed):
            self.module: EncoderDecoder = EncoderDecoder(encoder)
        self._weights = [p for p in self.module.parameters() if p.requires_grad]
        self.optimizer = torch.optim.Adam(self._weights, lr=settings.rate)
        self.identity = {
            **as_dict(settings),
            "dataset": dataset.name,
            "model": as_dict(encoder.config),
        }

    def batches(self, epoch: int) -> Sequence[Sequence[SourceAndTitle]]:
        """Two batches for each batch of examples: their titles, then their bodies."""
        size = self._options.batch_size * self.processes.world_size
        examples = shuffled(
            self._train, size, lambda example: len(example.body), (self._options.seed, epoch)
        )
        return [pairs for batch in examples for pairs in contexts(batch)]

    def step(self, own: Sequence[SourceAndTitle], batch: Sequence[SourceAndTitle]) -> Loss:
        """Σ -ln p of the words of each title, in the mean over titles, and the penalty."""
        sources, titles = zip(*own, strict=True)
        nll = self.module(self._view(sources), self._view(titles))
        loss = nll / len(batch)
        if self.processes.global_rank == 0:
            norms = torch.stack([weight.norm() for weight in self._weights])
            loss = loss + self._options.l2 * norms.sum()
        words = sum(len(title) + 1 for title in titles)  # and the end of each
        return Loss(loss, float(nll.detach()), words)

    def measure(self) -> Measurement:
        """Held-out perplexity beside a unigram model's, and dev ranked by titles alone."""
        figures = {"perplexity": self._heldout.perplexity(self.module), **self._constants}
        dev = self._dev.metrics(self.module.encoder)
        return Measurement(dev["MRR"], {**figures, "dev": dev})

    def save(self, record: EpochRecord) -> None:
        self._ranker.card = {
            "pre-trained on": self._dataset_name,
            "epoch": record["epoch"],
            "held-out perplexity": round(record["perplexity"], 2),
            "dev MRR of titles": round(record["dev"]["MRR"], 4),
        }
        self._ranker.save(self.folder)

    def _view(self, texts: Sequence[np.ndarray]) -> View:
        return View.of(texts).to(self.processes.device)


def pretrainable(ranker: Ranker) -> QuestionEncoder:
    """The ranker's model, if it is one that the paper pre-trains."""
    if ranker.name not in MODELS or not isinstance(ranker.model, QuestionEncoder):
        raise AskonceError(
            f"{ranker.name!r} cannot be pre-trained; the models that can are {', '.join(MODELS)}"
        )
    return ranker.model


def contexts(batch: Sequence[EncodedExample]) -> list[list[SourceAndTitle]]:
    """The titles with their targets, then the bodies with theirs, where there are any."""
    sides = ([(example[side], example.target) for example in batch] for side in (0, 1))
    pairs = ([pair for pair in side if len(pair[0])] for side in sides)
    return [side for side in pairs if side]
