"""Train on an archive: labels, pools by split, candidates, selection, calibration, manifest."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from askonce.archive import Snapshot
from askonce.errors import AskonceError, ConfigError, NotAnEncoder
from askonce.key_encoders import SentenceKeys
from askonce.models import MODELS
from askonce.models.base import Encoder
from askonce.ranking.manifest import SENTENCE, Manifest, Serving, TaskName
from askonce.teachers import MINILM, STARTER, load_teacher
from askonce.training.archive.candidates.encoders import (
    TrainedEncoder,
    encode_posts,
    own_encoders,
    teacher_encoders,
    train_student,
)
from askonce.training.archive.candidates.pair_model import train_pair
from askonce.training.archive.candidates.recipes import DISTIL
from askonce.training.archive.candidates.students import (
    STUDENT,
    learn_student,
    plain,
    student_texts,
)
from askonce.training.archive.candidates.task_training import Clock, TaskTraining
from askonce.training.archive.candidates.teaching import (
    default_teacher,
    read_archive,
    starter_serving,
    unlabelled,
)
from askonce.training.archive.candidates.words import learn_words
from askonce.training.archive.selection.calibrate import calibrate, weigh_votes
from askonce.training.archive.selection.compare import (
    EncoderComparison,
    Selected,
    Splits,
    longest_list,
    select_bm25,
    select_encoder,
    select_pair,
    while_typing,
)
from askonce.training.archive.selection.held_out import EncodedPosts, HeldOut
from askonce.training.archive.tasks.labels import ArchiveLabels
from askonce.training.archive.tasks.pools import ArchiveTask, make_tasks
from askonce.training.events import OnEvent, Phase
from askonce.types import utc_now

WORDS = "words"
READ_SHARE = 0.4  # of the time, for a teacher to read posts
FIRST_QUESTIONS = 300  # of dev, to compare the starter with BM25 before training
STUDENT_SHARE = 0.25  # of what is left then, for a student to learn its space


@dataclass(frozen=True)
class TrainOptions:
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
    labels = ArchiveLabels.of(archive)
    tasks, missing = make_tasks(labels, options.tasks, options.seed)
    named = options.encoder is not None
    if not tasks and loaded is None and named:
        raise AskonceError("; ".join(missing.values()))
    teacher, student = None, None
    if loaded is not None:
        on_event(Phase(f"reading posts with {source}"))
        texts = student_texts(labels.archive, tasks.values(), DISTIL.texts, options.seed)
        seconds = READ_SHARE * clock.seconds
        teacher = read_archive(
            loaded, tasks, archive, options.tasks, list(map(plain, texts)), seconds, on_event
        )
        on_event(Phase("learning the teacher's space"))
        student = learn_student(
            teacher,
            texts,
            labels.archive,
            folder / STUDENT,
            options.seed,
            clock.part(STUDENT_SHARE),
            on_event,
        )
    servings: dict[TaskName, Serving] = {}
    if tasks:
        on_event(Phase("learning words"))
        datasets = [task.dataset for task in tasks.values()]
        words = learn_words(datasets, options.vectors, options.seed, folder / WORDS)
        runs = [
            TaskTraining(
                name, task, words, folder / name, clock, options.seed, on_event, teacher, student
            )
            for name, task in tasks.items()
        ]
        servings = _train_tasks(runs, archive, options.encoder)
    if teacher is not None or not named:
        fast = STUDENT if student is not None else None
        servings |= {name: unlabelled(teacher, archive, name, fast) for name in missing}
    _keep_only_used(folder, servings)
    manifest = Manifest(utc_now(), servings.get("questions"), servings.get("answers"), change)
    return Trained(folder, manifest, missing)


def first_servings(archive: Snapshot, options: TrainOptions) -> dict[TaskName, Serving]:
    """The starter beside BM25, to serve during training; BM25 alone where dev does not gain."""
    tasks, missing = make_tasks(ArchiveLabels.of(archive), options.tasks, options.seed)
    servings = {name: starter_serving(name) for name in missing}
    return servings | {name: _first_serving(name, task) for name, task in tasks.items()}


def _first_serving(name: TaskName, task: ArchiveTask) -> Serving:
    dev, coder = HeldOut.of(task, "dev"), SentenceKeys(STARTER)
    splits = {"dev": replace(dev, queries=dev.queries[:FIRST_QUESTIONS])}
    keys = coder.candidate_keys(task.posts[: task.seen["dev"]])  # (N, K)
    starter = EncodedPosts(STARTER, f"{SENTENCE}{STARTER}", coder, keys)
    selected = select_encoder(splits, select_bm25(splits), [starter])
    if selected.encoder is None:
        return Serving()
    fusion = selected.served.fusion
    return replace(starter_serving(name), how=fusion.how, weights=fusion.weights)


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
    tried, selected = _compare(run, task, splits, model, others)
    pair = train_pair(run, *longest_list(splits["dev"], selected))
    if pair is not None:
        run.say(f"measuring {pair.ranker.name}")
        selected = select_pair(splits, selected, pair.ranker)
    served = [
        one for one in tried if selected.encoder and one.location == selected.encoder.location
    ]
    histories = [one.history for one in served]
    histories += [pair.progress.history[1:]] if pair is not None and selected.pair else []
    calibrated = calibrate(task, splits, selected)
    quality = {"probability": {"test": calibrated.quality}} if calibrated.quality else {}
    fast, selected = _fast(splits, tried, selected)
    serving = Serving(
        encoder=selected.encoder.location if selected.encoder else None,
        fast=fast,
        pair=pair.location if pair and selected.pair else None,
        how=selected.served.fusion.how,
        weights=selected.served.fusion.weights,
        calibration=calibrated.calibration,
        floor=calibrated.floor,
        close=calibrated.close,
        blend=weigh_votes(archive, task, splits["dev"], selected),
        labels=task.labels,
        figures=selected.figures() | quality,
        intervals=selected.intervals(splits),
        queries={name: len(pools) for name, pools in task.dataset.splits.items()},
        history=tuple(next(filter(None, histories), ())),
        seconds=round(time.perf_counter() - begin, 1),
        teacher=reading,
    )
    own = [one for one in tried if one.task == run.name and one.sides == 1 and not one.space_of]
    return serving, own


def _compare(
    run: TaskTraining,
    task: ArchiveTask,
    splits: Splits,
    model: str | None,
    others: Sequence[TrainedEncoder],
) -> tuple[list[TrainedEncoder], Selected]:
    """Every encoder that was tried, and what serves; those that need the least labels come first.

    The student learns the space of the teacher or the adapter that is best until then.
    """
    comparison = EncoderComparison(splits, select_bm25(splits))
    tried: list[TrainedEncoder] = []

    def compare(encoder: TrainedEncoder) -> None:
        tried.append(encoder)
        comparison.add(encode_posts(run, task, encoder))

    for encoder in teacher_encoders(run, model):
        compare(encoder)
    if tried:
        best = comparison.best.location if comparison.best else None
        space = next((one for one in tried if one.location == best), tried[0])
        student = train_student(run, space)
        if student is not None:
            compare(student)
    for encoder in (*own_encoders(run, model), *others):
        compare(encoder)
    return tried, comparison.selected


def _fast(
    splits: Splits, tried: Sequence[TrainedEncoder], selected: Selected
) -> tuple[str | None, Selected]:
    """The student in the space of the encoder that serves, and what is shown while typing."""
    encoder = selected.encoder
    for student in tried:
        if encoder is not None and student.space_of == encoder.location:
            typed = while_typing(splits, selected, student.coder)
            systems = {**selected.systems, "while typing": typed}
            return student.location, replace(selected, systems=systems)
    return None, selected


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
    used = {path for serving in servings.values() for path in serving.models}
    models = [f"{name}/{path.name}" for name in servings for path in (folder / name).glob("*")]
    for model in (STUDENT, *models):
        if model not in used:
            shutil.rmtree(folder / model, ignore_errors=True)
        for checkpoint in (folder / model).glob("*checkpoint"):
            shutil.rmtree(checkpoint, ignore_errors=True)
