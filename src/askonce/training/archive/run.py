"""Train on an archive: labels, pools by split, candidates, selection, calibration, manifest."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from askonce.archive import Snapshot
from askonce.errors import AskonceError, ConfigError, NotAnEncoder
from askonce.key_encoders import SentenceKeys
from askonce.models import MODELS
from askonce.models.base import Encoder
from askonce.ranker import Ranker
from askonce.ranking.manifest import Manifest, Serving, TaskName
from askonce.training.archive.calibrate import calibrate, weigh_votes
from askonce.training.archive.candidates import (
    PAIR,
    TaskTraining,
    encode_posts,
    train_encoder,
    train_pair,
)
from askonce.training.archive.clock import Clock
from askonce.training.archive.held_out import HeldOut
from askonce.training.archive.labels import ArchiveLabels
from askonce.training.archive.pools import make_tasks
from askonce.training.archive.selection import (
    longest_list,
    select_bm25,
    select_encoder,
    select_pair,
)
from askonce.training.archive.words import learn_words
from askonce.training.events import OnEvent, Phase

WORDS = "words"


@dataclass(frozen=True)
class TrainOptions:
    """How to train on an archive."""

    encoder: str | None = None  # a registered model, or a sentence-transformers model
    tasks: tuple[TaskName, ...] = ("questions", "answers")
    minutes: float = 10.0  # after which no epoch begins
    vectors: Path | None = None  # a file of word vectors, besides those learnt from the archive
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.minutes > 0:
            raise ConfigError(f"minutes = {self.minutes}; expected more than 0")


@dataclass(frozen=True)
class Trained:
    """The result of a training run."""

    folder: Path
    manifest: Manifest
    missing: Mapping[TaskName, str]  # why there is no model for a task


def train_snapshot(
    archive: Snapshot, folder: Path, options: TrainOptions, on_event: OnEvent, change: int = 0
) -> Trained:
    """Rankers for similar questions and for answers, where the archive has the labels for them.

    The folder gets what serves; a training run that was stopped resumes in the same folder.
    """
    check_encoder(options.encoder)
    clock = Clock(60 * options.minutes)
    on_event(Phase("reading marks and votes"))
    tasks, missing = make_tasks(ArchiveLabels.of(archive), options.tasks, options.seed)
    if not tasks:
        raise AskonceError("; ".join(missing.values()))
    on_event(Phase("learning words"))
    datasets = [task.dataset for task in tasks.values()]
    words = learn_words(datasets, options.vectors, options.seed, folder / WORDS)
    runs = [
        TaskTraining(name, task, words, folder / name, clock, options.seed, on_event)
        for name, task in tasks.items()
    ]
    clock.questions = sum(run.questions for run in runs)
    servings: dict[TaskName, Serving] = {}
    encoders: dict[TaskName, Ranker] = {}
    for run in runs:
        servings[run.name], own = _train_task(run, archive, options.encoder, encoders)
        encoders |= own
    _keep_only_used(folder, servings)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = Manifest(now, servings.get("questions"), servings.get("answers"), change)
    return Trained(folder, manifest, missing)


def _train_task(
    run: TaskTraining, archive: Snapshot, model: str | None, others: Mapping[TaskName, Ranker]
) -> tuple[Serving, dict[TaskName, Ranker]]:
    """What serves one task, and the encoder trained for it; ``others`` are of earlier tasks."""
    begin = time.perf_counter()
    splits = {split: HeldOut.of(run.task, split) for split in ("dev", "test")}
    own: dict[TaskName, Ranker] = {}
    history: Sequence[Mapping[str, Any]] = ()
    if model is None or model in MODELS:
        trained = train_encoder(run, model)
        own, history = {run.name: trained.ranker}, trained.progress.history[1:]
    posts = len(archive.questions) + len(archive.answers)
    encoded = encode_posts(run, model, {**own, **others}, posts)
    selected = select_encoder(splits, select_bm25(splits), encoded)
    pair = train_pair(run, *longest_list(splits["dev"], selected))
    if pair is not None:
        run.say(f"measuring {pair.ranker.name}")
        selected = select_pair(splits, selected, pair.ranker)
        history = history or pair.progress.history[1:]
    calibration, quality = calibrate(run.task, splits, selected)
    serving = Serving(
        encoder=selected.encoder.place if selected.encoder else None,
        pair=f"{run.name}/{PAIR}" if selected.pair else None,
        how=selected.served.fusion.how,
        weights=selected.served.fusion.weights,
        calibration=calibration,
        blend=weigh_votes(archive, run.task, splits["dev"], selected),
        labels=run.task.labels,
        figures=selected.figures() | ({"probability": {"test": quality}} if quality else {}),
        queries={name: len(pools) for name, pools in run.task.dataset.splits.items()},
        history=tuple(history),  # of trained epochs: epoch 0 has no loss
        seconds=round(time.perf_counter() - begin, 1),
    )
    return serving, own


def check_encoder(name: str | None) -> None:
    """An error, before any work, for a model without vectors or one that cannot be loaded."""
    if name is None:
        return
    if name not in MODELS:
        SentenceKeys(name)
    elif not issubclass(MODELS[name], Encoder):
        raise NotAnEncoder(
            f"{name!r} compares both texts together, so it has no vectors to search by; "
            "choose an encoder of `askonce models`"
        )


def _keep_only_used(folder: Path, servings: Mapping[TaskName, Serving]) -> None:
    """Remove models that do not serve, and checkpoints."""
    used = {place for serving in servings.values() for place in (serving.encoder, serving.pair)}
    for name in servings:
        for model in (folder / name).glob("*"):
            unused = f"{name}/{model.name}" not in used
            shutil.rmtree(model if unused else model / "checkpoint", ignore_errors=True)
