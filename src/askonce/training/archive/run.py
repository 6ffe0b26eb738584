"""Train on a person's own archive: pools from its marks, words from its text, the best on dev."""

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from askonce.archive import Snapshot
from askonce.errors import AskonceError, ConfigError, NotAnEncoder
from askonce.key_encoders import SentenceKeys
from askonce.models import MODELS
from askonce.models.base import Encoder
from askonce.ranker import Ranker
from askonce.ranking.manifest import Manifest, Serving, TaskName
from askonce.training.archive.calibrate import calibrate, weigh_votes
from askonce.training.archive.candidates import PAIR, TaskTraining, train_encoders, train_pair
from askonce.training.archive.clock import Clock
from askonce.training.archive.held_out import HeldOut
from askonce.training.archive.pools import ArchiveTask, answer_task, question_task
from askonce.training.archive.selection import (
    longest_list,
    select_bm25,
    select_encoder,
    select_pair,
)
from askonce.training.archive.words import learn_words
from askonce.training.events import OnEvent, Phase

# answers first: an encoder that learnt from many of them may also know which questions are alike
MAKE: dict[TaskName, Callable[[Snapshot, int], ArchiveTask]] = {
    "answers": answer_task,
    "questions": question_task,
}
WORDS = "words"


@dataclass(frozen=True)
class TrainOptions:
    """What a training of an archive is told."""

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
    """What a training left in its folder."""

    folder: Path
    manifest: Manifest
    missing: Mapping[TaskName, str]  # why there is no model for a task


def train_snapshot(
    archive: Snapshot, folder: Path, wishes: TrainOptions, on_event: OnEvent, change: int = 0
) -> Trained:
    """Rankers for similar questions and for answers, where the archive has the labels for them.

    The folder gets what serves; a training run that was stopped resumes in the same folder.
    """
    check_encoder(wishes.encoder)
    clock = Clock(60 * wishes.minutes)
    on_event(Phase("reading marks and votes"))
    tasks, missing = _tasks(archive, wishes)
    if not tasks:
        raise AskonceError("; ".join(missing.values()))
    on_event(Phase("learning words"))
    datasets = [task.dataset for task in tasks.values()]
    words = learn_words(datasets, wishes.vectors, wishes.seed, folder / WORDS)
    runs = [
        TaskTraining(name, task, words, folder / name, clock, wishes.seed, on_event)
        for name, task in tasks.items()
    ]
    clock.questions = sum(run.questions for run in runs)
    servings: dict[TaskName, Serving] = {}
    encoders: dict[str, Ranker] = {}  # trained for earlier tasks, by their place
    for run in runs:
        servings[run.name] = _train_task(run, archive, wishes.encoder, encoders)
    _keep_only_used(folder, servings)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = Manifest(now, servings.get("questions"), servings.get("answers"), change)
    return Trained(folder, manifest, missing)


def _train_task(
    run: TaskTraining, archive: Snapshot, encoder: str | None, encoders: dict[str, Ranker]
) -> Serving:
    """Train the candidates of one task, select what serves, calibrate it."""
    begin = time.perf_counter()
    splits = {split: HeldOut.of(run.task, split) for split in ("dev", "test")}
    bm25 = select_bm25(splits)
    posts = len(archive.questions) + len(archive.answers)
    candidates = train_encoders(run, encoder, encoders, posts)
    first = select_encoder(splits, bm25, candidates)
    history = [dict(record) for one in candidates if one.trained for record in one.trained.history]
    encoders |= {one.place: one.trained.ranker for one in candidates if one.trained}
    pair = train_pair(run, *longest_list(splits["dev"], first))
    selected = first
    if pair is not None:
        run.say(f"measuring {pair.ranker.name}")
        selected = select_pair(splits, first, pair.ranker)
        history = history or [dict(record) for record in pair.history]
    calibration, judged = calibrate(run.task, splits, selected)
    figures = selected.figures()
    if judged is not None:
        figures["probability"] = {"test": judged}
    fusion = selected.served.fusion
    return Serving(
        encoder=selected.encoder,
        pair=f"{run.name}/{PAIR}" if selected.pair else None,
        how=fusion.how,
        weights=fusion.weights,
        calibration=calibration,
        blend=weigh_votes(archive, run.task, splits["dev"], selected),
        labels=run.task.labels,
        figures=figures,
        queries={name: len(pools) for name, pools in run.task.dataset.splits.items()},
        history=tuple(history),
        seconds=round(time.perf_counter() - begin, 1),
    )


def _tasks(
    archive: Snapshot, wishes: TrainOptions
) -> tuple[dict[TaskName, ArchiveTask], dict[TaskName, str]]:
    """What there is to learn, and why a task cannot be learnt."""
    tasks: dict[TaskName, ArchiveTask] = {}
    missing: dict[TaskName, str] = {}
    for name, make in MAKE.items():
        if name not in wishes.tasks:
            continue
        try:
            tasks[name] = make(archive, wishes.seed)
        except AskonceError as error:
            missing[name] = str(error)
    if len(tasks) == len(MAKE):
        tasks["answers"] = _apart(tasks["answers"], tasks["questions"])
    return tasks, missing


def _apart(answers: ArchiveTask, questions: ArchiveTask) -> ArchiveTask:
    """The answers without training questions that are of dev or test among the questions.

    Else the answers' encoder would be measured on questions that it has learnt.
    """
    held = {x.query.id for split in ("dev", "test") for x in questions.examples[split]}
    dataset = answers.dataset
    kept = [pool for pool in dataset.role("train") if pool.query.id not in held]
    if not kept:
        return answers
    splits = {**dataset.splits, dataset.train: tuple(kept)}
    return replace(answers, dataset=replace(dataset, splits=splits))


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
