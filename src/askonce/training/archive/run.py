"""Train on an archive: labels, pools by split, candidates, selection, calibration, manifest."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from askonce.archive import Snapshot
from askonce.errors import AskonceError, ConfigError, NotAnEncoder
from askonce.models import MODELS
from askonce.models.base import Encoder
from askonce.ranking.manifest import Manifest, Serving, TaskName
from askonce.teachers import MINILM, load_teacher
from askonce.training.archive.calibrate import calibrate, weigh_votes
from askonce.training.archive.candidates import (
    PAIR,
    TaskTraining,
    TrainedEncoder,
    encode_posts,
    encoders,
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
from askonce.training.archive.teaching import default_teacher, read_archive, unlabelled
from askonce.training.archive.words import learn_words
from askonce.training.events import OnEvent, Phase

WORDS = "words"
READ_SHARE = 0.5  # of the time, for a teacher to read posts


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
    missing: Mapping[TaskName, str]  # why nothing was trained for a task


def train_snapshot(
    archive: Snapshot, folder: Path, options: TrainOptions, on_event: OnEvent, change: int = 0
) -> Trained:
    """Rankers for similar questions and for answers.

    Where the archive has no labels for a task, a teacher serves as it comes. The folder gets what
    serves; a training run that was stopped resumes in the same folder.
    """
    clock = Clock(60 * options.minutes)
    source = teacher_of(options.encoder)
    loaded = load_teacher(source) if source is not None else None  # an error before any work
    on_event(Phase("reading marks and votes"))
    tasks, missing = make_tasks(ArchiveLabels.of(archive), options.tasks, options.seed)
    named = options.encoder is not None
    if not tasks and loaded is None and named:
        raise AskonceError("; ".join(missing.values()))
    teacher = None
    if loaded is not None:
        on_event(Phase(f"reading posts with {source}"))
        seconds = READ_SHARE * clock.seconds
        teacher = read_archive(loaded, tasks, archive, options.tasks, seconds, on_event)
    servings: dict[TaskName, Serving] = {}
    if tasks:
        on_event(Phase("learning words"))
        datasets = [task.dataset for task in tasks.values()]
        words = learn_words(datasets, options.vectors, options.seed, folder / WORDS)
        runs = [
            TaskTraining(name, task, words, folder / name, clock, options.seed, on_event, teacher)
            for name, task in tasks.items()
        ]
        servings = _train_tasks(runs, archive, options.encoder)
        _keep_only_used(folder, servings)
    if teacher is not None or not named:
        servings |= {name: unlabelled(teacher, archive, name) for name in missing}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = Manifest(now, servings.get("questions"), servings.get("answers"), change)
    return Trained(folder, manifest, missing)


def _train_tasks(
    runs: Sequence[TaskTraining], archive: Snapshot, model: str | None
) -> dict[TaskName, Serving]:
    clock = runs[0].clock
    clock.questions = sum(run.questions for run in runs)
    servings: dict[TaskName, Serving] = {}
    trained: list[TrainedEncoder] = []
    for run in runs:
        servings[run.name], own = _train_task(run, archive, model, trained)
        trained += own
    return servings


def _train_task(
    run: TaskTraining, archive: Snapshot, model: str | None, others: Sequence[TrainedEncoder]
) -> tuple[Serving, list[TrainedEncoder]]:
    """What serves one task, and the encoders trained for it; ``others`` are of earlier tasks."""
    begin = time.perf_counter()
    reading = run.teacher.reading(run.task) if run.teacher else None
    task = run.teacher.known(run.task) if run.teacher and reading and reading.tried else run.task
    splits = {split: HeldOut.of(task, split) for split in ("dev", "test")}
    tried = list(encoders(run, model, others))
    encoded = (encode_posts(run, task, encoder) for encoder in tried)
    selected = select_encoder(splits, select_bm25(splits), encoded)
    pair = train_pair(run, *longest_list(splits["dev"], selected))
    if pair is not None:
        run.say(f"measuring {pair.ranker.name}")
        selected = select_pair(splits, selected, pair.ranker)
    served = [one for one in tried if selected.encoder and one.place == selected.encoder.place]
    histories = [one.history for one in (*served, *tried)]
    histories += [pair.progress.history[1:]] if pair else []
    calibration, quality = calibrate(task, splits, selected)
    serving = Serving(
        encoder=selected.encoder.place if selected.encoder else None,
        pair=f"{run.name}/{PAIR}" if selected.pair else None,
        how=selected.served.fusion.how,
        weights=selected.served.fusion.weights,
        calibration=calibration,
        blend=weigh_votes(archive, task, splits["dev"], selected),
        labels=task.labels,
        figures=selected.figures() | ({"probability": {"test": quality}} if quality else {}),
        intervals=selected.intervals(splits),
        queries={name: len(pools) for name, pools in task.dataset.splits.items()},
        history=tuple(next(filter(None, histories), ())),
        seconds=round(time.perf_counter() - begin, 1),
        teacher=reading,
    )
    return serving, [one for one in tried if one.task == run.name and one.sides == 1]


def teacher_of(encoder: str | None) -> str | None:
    """The teacher to use; an error, before any work, for a model without vectors."""
    if encoder is None:
        return default_teacher()
    if encoder not in MODELS:
        return encoder
    if MODELS[encoder].reads == "vectors":
        return MINILM
    if not issubclass(MODELS[encoder], Encoder):
        raise NotAnEncoder(
            f"{encoder!r} compares both texts together, so it has no vectors to search by; "
            "choose an encoder of `askonce models`"
        )
    return None


def _keep_only_used(folder: Path, servings: Mapping[TaskName, Serving]) -> None:
    """Remove models that do not serve, and checkpoints."""
    used = {place for serving in servings.values() for place in (serving.encoder, serving.pair)}
    for name in servings:
        for model in (folder / name).glob("*"):
            unused = f"{name}/{model.name}" not in used
            shutil.rmtree(model if unused else model / "checkpoint", ignore_errors=True)
