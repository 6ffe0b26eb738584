"""A student learns its teacher's vectors from texts without labels."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from askonce.config import as_dict
from askonce.errors import ConfigError
from askonce.models.bag import Bag
from askonce.models.base import Side
from askonce.ranker import Ranker
from askonce.teachers.starter import Starter
from askonce.text.batch import Batch, TokenIds
from askonce.text.vectors import word_means
from askonce.text.vocabulary import UNK, Vocabulary
from askonce.training.batches import shuffled, slices
from askonce.training.checkpoint import EpochRecord
from askonce.training.distillation.beside import Bending, as_they_are
from askonce.training.distillation.settings import DistilSettings
from askonce.training.epochs import EpochSettings, Learner, Loss, Measurement
from askonce.training.processes import ALONE, Processes

MOST_HELD_OUT = 1_000


class TeacherTexts(NamedTuple):
    """Texts with the teacher's vectors: to learn from, and held out to choose the epoch."""

    learnt: list[TokenIds]
    held_out: list[TokenIds]

    @classmethod
    def split(cls, texts: Sequence[TokenIds], share: float, seed: int) -> "TeacherTexts":
        """Hold this share out, at least one text."""
        order = np.random.default_rng(seed).permutation(len(texts)).tolist()
        size = int(np.clip(share * len(texts), 1, MOST_HELD_OUT))
        return cls([texts[row] for row in order[size:]], [texts[row] for row in order[:size]])


def first_words(texts: Sequence[TokenIds], vocabulary: Vocabulary) -> np.ndarray:
    """Word vectors to start from (V, D)."""
    vectors = np.stack([cast(np.ndarray, text.vector) for text in texts])  # (n, D)
    words = [text.text[text.text > UNK] for text in texts]
    ends = np.cumsum([0, *map(len, words)])
    return word_means(np.concatenate(words), ends, vectors, len(vocabulary))[0]


def start_as(ranker: Ranker, starter: Starter) -> None:
    """Let a bag begin with the words of the starter; words that it lacks keep theirs, scaled."""
    model = ranker.model
    if not isinstance(model, Bag):
        raise ConfigError(f"distil.start = 'starter' is for the model 'bag', not {ranker.name!r}")
    if starter.dim != model.words.dim:
        raise ConfigError(
            f"distil.start = 'starter' has vectors of {starter.dim} numbers, the teacher of "
            f"{model.words.dim}; the starter's teacher is MiniLM"
        )
    rows, known = starter.contributions(ranker.lexicon.vocabulary.words)  # (k,), (k, D)
    if not rows:
        return
    with torch.no_grad():
        own = model.words.weight * model.weights[:, None]  # (V, D), what each word adds to a sum
        taken = torch.from_numpy(known)
        sizes = [part.norm(dim=1).mean() for part in (taken, own[rows])]
        own *= sizes[0] / sizes[1].clamp_min(1e-6)
        own[rows] = taken
        model.words.weight.copy_(own)
        model.weights.fill_(1.0)


class Distillation(Learner[TokenIds]):
    """Cosine to the teacher's vectors, and the similarities among the texts of a batch.

    The folder gets the ranker of the best epoch.
    """

    name = "distil"
    unit = "texts"

    def __init__(
        self,
        ranker: Ranker,
        texts: TeacherTexts,
        config: DistilSettings,
        folder: Path,
        seed: int,
        processes: Processes = ALONE,
        bend: Bending = as_they_are,
    ) -> None:
        self.module, self.processes, self.folder = ranker.model, processes, folder
        self.settings = EpochSettings(config.epochs, config.patience, seed)
        self._ranker, self._config, self._seed, self._bend = ranker, config, seed, bend
        self._texts, self._held_out = texts
        self.identity = as_dict(config) | {"seed": seed, "read": len(texts.learnt)}
        weights = [weight for weight in ranker.model.parameters() if weight.requires_grad]
        # fused: most of a step is the update of all word vectors
        self.optimizer = torch.optim.Adam(weights, lr=config.rate, fused=True)
        need_same_length(ranker, self._held_out)

    def batches(self, epoch: int) -> Sequence[Sequence[TokenIds]]:
        size, seed = self._config.batch_size, (self._seed, epoch)
        return shuffled(self._texts, size, lambda text: text.length, seed)

    def step(self, own: Sequence[TokenIds], batch: Sequence[TokenIds]) -> Loss:
        """1 - cosine of each text, and the squared error of the matrix of similarities."""
        texts = Batch(own, self.processes.device)
        share = len(own) / len(batch)  # of the whole batch
        losses = [self._loss(texts, side) for side in self._ranker.encoder.sides]
        loss = sum(losses, torch.zeros(())) / len(losses)
        return Loss(loss * share, float(loss.detach()) * len(own), len(own))

    def _loss(self, texts: Batch, side: Side) -> Tensor:
        target = self._bend(texts.vectors, side)  # (B, D)
        vectors = F.normalize(self._ranker.encoder.encode_side(texts, side), dim=-1)  # (B, D)
        error = vectors @ vectors.T - target @ target.T  # (B, B)
        away = 1 - (vectors * target).sum(1)  # (B,)
        return away.mean() + self._config.matrix * error.square().mean()

    @torch.inference_mode()
    def measure(self) -> Measurement:
        """Mean cosine to the teacher's vectors of the texts that are held out."""
        self._ranker.model.prepare()
        encoder = self._ranker.encoder
        cosines = [
            F.cosine_similarity(encoder.encode_side(texts, side), self._bend(texts.vectors, side))
            for side in encoder.sides
            for texts in (
                Batch(part, self.processes.device) for part in slices(self._held_out, 256)
            )
        ]
        value = float(torch.cat(cosines).mean())
        return Measurement(value, {"cosine": value})

    def save(self, record: EpochRecord) -> None:
        self._ranker.card = {"distilled cosine": round(record["cosine"], 4)}
        self._ranker.save(self.folder)


def need_same_length(ranker: Ranker, texts: Sequence[TokenIds]) -> None:
    """An error if the encoder's vectors are not as long as the teacher's."""
    one = ranker.batch(texts[:1])
    with torch.inference_mode():
        own = ranker.encoder.encode(one).shape[1]
    if own != one.vectors.shape[1]:
        raise ConfigError(
            f"the vectors of {ranker.name!r} have {own} numbers, those of its teacher "
            f"{one.vectors.shape[1]}; set the model's dimension to the teacher's"
        )
