"""Pre-training for CABIN and ELMo: a language model of the queries and one of the candidates."""

import hashlib
import json
import math
import time
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import nn

from askonce.config import as_dict
from askonce.errors import AskonceError, ConfigError
from askonce.models.base import EmbeddingInit, Side
from askonce.models.language_model import (
    LanguageLosses,
    LanguageModel,
    LanguageModelReader,
    perplexity,
)
from askonce.ranker import Ranker
from askonce.text.batch import View
from askonce.training import checkpoint
from askonce.training.batches import BUCKET
from askonce.training.denormals import flushed_denormals
from askonce.training.epochs import OPTIMISERS
from askonce.training.events import Epoch, OnEvent, Phase, Step, ignore
from askonce.training.processes import add_up_gradients, added_up, alone, own_part
from askonce.training.sampling import split_of
from askonce.types import Dataset, Post, candidates

SIDES: tuple[Side, ...] = ("query", "candidate")
RECORDS = "language_models.jsonl"


@dataclass(frozen=True)
class LanguageModelSettings:
    """How the language models learn; section 5.3 of the paper, and ours where it differs."""

    # the paper: sgd at rate 0.1, which on WikiQA's questions is at a perplexity of 1,120 after
    # three epochs (mean of both directions), where Adam has passed 620 after one
    optimiser: Literal["adam", "sgd"] = "adam"
    rate: float = 3e-3
    halve_every: int = 5  # epochs; the paper: "halved after 5 epochs"
    batch_size: int = 50  # texts of each process
    clip: float = 5.0  # greatest norm of the gradient
    epochs: int = 10  # the paper does not say
    patience: int = 2  # epochs without lower held-out perplexity before stopping
    held_out: float = 0.05  # share of the texts
    split: str | None = None  # None is the dataset's own training split
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "patience", "halve_every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} = {getattr(self, name)}; expected at least 1")
        for name in ("rate", "clip", "held_out"):
            if not getattr(self, name) > 0:  # so written, it finds nan too
                raise ConfigError(f"{name} = {getattr(self, name)}; expected more than 0")
        if self.held_out >= 1:
            raise ConfigError(f"held_out = {self.held_out}; expected less than 1")


@flushed_denormals()
def pretrain_language_models(
    ranker: Ranker,
    dataset: Dataset,
    settings: LanguageModelSettings,
    folder: Path,
    on_event: OnEvent = ignore,
    fabric: Fabric | None = None,
) -> list[dict[str, Any]]:
    """Teach a CABIN or ELMo ranker how queries and candidates are written, without any label.

    The folder gets the ranker, from which training can start, one record per side and epoch in
    ``language_models.jsonl`` and a checkpoint for each side: a run that was stopped goes on by
    itself. Returns the records. Each side reads as it did in its best epoch.
    """
    if not isinstance(ranker.model, LanguageModelReader):
        raise ConfigError(f"{ranker.name!r} has no language models to train; cabin and elmo have")
    fabric = fabric or alone()
    learners = {side: _Learner(ranker, settings, side, fabric) for side in SIDES}
    models = [learner.model for learner in learners.values()]
    ranker.model.load_language_models(*models)  # what cannot fit is told before the work
    texts = texts_to_read(dataset, settings.split or dataset.train)
    history: list[dict[str, Any]] = []
    for side, learner in learners.items():
        history += learner.learn(_codes(ranker, texts[side]), folder, history, on_event)
    ranker.model.load_language_models(*models)
    ranker.card = {"dataset": dataset.name, "pre-trained": "language models", **_best(history)}
    if fabric.global_rank == 0:
        ranker.save(folder)
    fabric.barrier()
    return history


def texts_to_read(dataset: Dataset, split: str) -> dict[Side, list[Post]]:
    """What the language models of both sides may read.

    The queries and candidates of the split, and what the corpus holds beyond them, but nothing
    that only other splits have: a figure on dev or test is one for texts never seen.
    """
    own = split_of(dataset, split)
    others = [pool for pools in dataset.splits.values() if pools is not own for pool in pools]
    read = {post.id: post for post in candidates(own)}
    kept = {post.id for post in candidates(others)} | {pool.query.id for pool in others}
    for post in dataset.corpus:
        if post.id not in kept:
            read.setdefault(post.id, post)
    return {"query": [pool.query for pool in own], "candidate": list(read.values())}


def split_texts(
    texts: Sequence[np.ndarray], share: float, seed: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Distinct texts with words, to learn from and held out; a hash decides, not the order."""
    distinct = {text.tobytes(): text for text in texts if len(text)}
    if len(distinct) < 2:
        raise AskonceError(
            f"{len(distinct)} distinct texts with words; a language model needs one to learn from "
            "and one to be measured on"
        )
    key = str(seed).encode()
    order = sorted(distinct, key=lambda text: hashlib.blake2b(text, key=key).digest())
    count = min(max(1, round(share * len(order))), len(order) - 1)
    return [distinct[text] for text in order[count:]], [distinct[text] for text in order[:count]]


class _Learner(nn.Module):
    """The language model of one side, and its recurrence as it was in the best epoch.

    Both are in the checkpoint, so a resumed run still knows what was best.
    """

    def __init__(
        self, ranker: Ranker, settings: LanguageModelSettings, side: Side, fabric: Fabric
    ) -> None:
        super().__init__()
        self.settings, self.side, self.fabric = settings, side, fabric
        config, vectors = ranker.model.config, ranker.model.get_parameter("words.weight")
        words = EmbeddingInit.of(ranker.lexicon.vocabulary, vectors.detach().numpy())
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(2 * settings.seed + SIDES.index(side))
            self.model = LanguageModel(words, config.hidden, config.layers)
        self.model.to(fabric.device)
        self.best = deepcopy(self.model.recurrence)

    def learn(
        self,
        texts: Sequence[np.ndarray],
        folder: Path,
        before: list[dict[str, Any]],
        on_event: OnEvent,
    ) -> list[dict[str, Any]]:
        """Lower the surprise at these texts until held-out ones gain no more; the best reading."""
        settings = self.settings
        weights = [value for value in self.model.parameters() if value.requires_grad]
        optimizer = OPTIMISERS[settings.optimiser](weights, lr=settings.rate)
        learned, held_out = split_texts(texts, settings.held_out, settings.seed)
        place = folder / f"{self.side}-language-model-checkpoint"
        told = as_dict(settings) | {
            "word vectors": list(self.model.words.weight.shape),
            "hidden, layers": list(self.model.recurrence.sizes[1:]),
            "texts": len(texts),
        }
        progress = checkpoint.load(place, told, self, optimizer)
        on_event(Phase(f"{self.side} language model"))

        while progress.epoch < settings.epochs and not progress.done:
            progress.epoch += 1
            begin = time.perf_counter()
            rate = settings.rate * 0.5 ** ((progress.epoch - 1) // settings.halve_every)
            for group in optimizer.param_groups:
                group["lr"] = rate
            loss, words = self._epoch(learned, optimizer, progress.epoch, on_event)
            speed = words / (time.perf_counter() - begin)
            rightward, leftward = self.perplexities(held_out)
            record = {
                "side": self.side,
                "epoch": progress.epoch,
                "loss": loss,
                "rate": rate,
                "words_per_second": round(speed),
                "seconds": round(time.perf_counter() - begin, 3),
                "rightward_perplexity": rightward,  # of held-out texts
                "leftward_perplexity": leftward,
            }
            progress.history.append(record)
            chance = 1 / math.sqrt(rightward * leftward)  # of a word, in the geometric mean
            if best := chance > progress.best_value:
                progress.best_epoch, progress.best_value = progress.epoch, chance
                self.best.load_state_dict(self.model.recurrence.state_dict())
            progress.done = progress.epoch - progress.best_epoch >= settings.patience
            if self.fabric.global_rank == 0:
                checkpoint.save(place, progress, told, self, optimizer)
                _write(folder, before + progress.history)
            self.fabric.barrier()
            on_event(Epoch.of(record, best))
        self.model.recurrence.load_state_dict(self.best.state_dict())
        return progress.history

    def _epoch(
        self,
        texts: Sequence[np.ndarray],
        optimizer: torch.optim.Optimizer,
        epoch: int,
        on_event: OnEvent,
    ) -> tuple[float, float]:
        """Mean of -ln p per word and direction over the epoch as it went by, and its words."""
        rng = np.random.default_rng((self.settings.seed, epoch))
        weights = [value for value in self.model.parameters() if value.requires_grad]
        total, words, done = 0.0, 0, 0
        for some in _batches(texts, self.settings.batch_size * self.fabric.world_size, rng):
            own, busy = own_part(some, self.fabric)
            forward, backward, count = self._losses(own)
            loss = (forward + backward) * busy / sum(map(len, some))  # of the words of all
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            add_up_gradients(weights, self.fabric)
            nn.utils.clip_grad_norm_(weights, self.settings.clip)
            optimizer.step()
            total += float((forward + backward).detach()) * busy / 2
            words, done = words + count * busy, done + len(some)
            on_event(Step(epoch, done, len(texts), total / max(words, 1)))
        total, words = added_up(
            torch.tensor([total, words], dtype=torch.float64), self.fabric
        ).tolist()
        return total / words, words

    def _losses(self, texts: Sequence[np.ndarray]) -> LanguageLosses:
        return self.model.losses(View.of(texts).to(self.fabric.device))

    @torch.inference_mode()
    def perplexities(self, texts: Sequence[np.ndarray]) -> tuple[float, float]:
        """Perplexity of the rightward and of the leftward reading."""
        texts = sorted(texts, key=len)
        forward = backward = 0.0
        words = 0
        for start in range(0, len(texts), self.settings.batch_size):
            some = self._losses(texts[start : start + self.settings.batch_size])
            forward, backward = forward + float(some.forward), backward + float(some.backward)
            words += some.words
        return perplexity(forward, words), perplexity(backward, words)


def _codes(ranker: Ranker, posts: Sequence[Post]) -> list[np.ndarray]:
    return [ranker.lexicon.numbers(post).text for post in posts]


def _batches(
    texts: Sequence[np.ndarray], size: int, rng: np.random.Generator
) -> Iterator[list[np.ndarray]]:
    """Texts of like length together, the batches in random order."""
    order = [texts[place] for place in rng.permutation(len(texts))]
    chunks: list[list[np.ndarray]] = []
    for start in range(0, len(order), BUCKET * size):
        some = sorted(order[start : start + BUCKET * size], key=len)
        chunks += [some[i : i + size] for i in range(0, len(some), size)]
    for place in rng.permutation(len(chunks)):
        yield chunks[place]


def _write(folder: Path, records: Sequence[dict[str, Any]]) -> None:
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (folder / RECORDS).write_text(lines, "utf-8")


def _best(history: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the model card says: the lowest held-out perplexities of each side."""
    found = {}
    for side in SIDES:
        pairs = [
            (record["rightward_perplexity"], record["leftward_perplexity"])
            for record in history
            if record["side"] == side
        ]
        best = min(pairs, key=math.prod)
        found[f"{side} perplexity"] = ", ".join(f"{value:.1f}" for value in best)
    return found
