"""Train on an archive: teach and compare encoders, put a first student in service, then the rest.

What was trained first serves while encoders of the archive's own words and a pair model follow.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from askonce.archive import Snapshot
from askonce.errors import AskonceError
from askonce.ranking.manifest import Manifest, Serving
from askonce.training.archive.candidates import teaching
from askonce.training.archive.candidates.recipes import DISTIL
from askonce.training.archive.candidates.students import (
    STUDENT,
    ArchiveStudent,
    learn_student,
    plain,
    student_texts,
)
from askonce.training.archive.candidates.task_training import (
    ArchiveWords,
    Clock,
    TaskTraining,
    learn_words,
)
from askonce.training.archive.contest import TaskContest
from askonce.training.archive.preparing import Prepared, TrainOptions, prepare
from askonce.training.archive.tasks.pools import ArchiveTask
from askonce.training.events import OnEvent, Phase
from askonce.types import TaskName, utc_now

WORDS = "words"
READ_SHARE = 0.4  # of the time left, for a teacher to read posts
STUDENT_SHARE = 0.25  # of what is left then, for a student to learn its space
# of the first training of an archive, from the starter in service to students that are trained;
# they are then measured and encode all posts, which takes up to a minute
FIRST_SECONDS = 165.0
UNREAD, AGAIN = "unread.txt", "again"  # files of a run that may resume

Publish = Callable[[Mapping[TaskName, Serving]], None]


@dataclass(frozen=True)
class Trained:
    folder: Path
    manifest: Manifest
    missing: Mapping[TaskName, str]  # why nothing was trained for a task


def train_snapshot(
    archive: Snapshot, folder: Path, options: TrainOptions, on_event: OnEvent, change: int = 0
) -> Trained:
    return train_prepared(prepare(archive, options, on_event), folder, on_event, change)


def train_prepared(
    prepared: Prepared,
    folder: Path,
    on_event: OnEvent,
    change: int = 0,
    publish: Publish | None = None,
) -> Trained:
    """Rankers for similar questions and for answers.

    Where the archive has no labels for a task, a teacher serves as it comes. The folder gets what
    serves; a training run that was stopped resumes in the same folder.

    With ``publish``, students are trained within ``FIRST_SECONDS`` and published before anything
    else is tried. If the teacher could not read everything until then and as much time is left, or
    if it could not even be compared, it reads on and what learns from it is trained again.
    """
    if not prepared.labelled and prepared.options.encoder is not None and prepared.teacher is None:
        raise AskonceError("; ".join(prepared.missing.values()))
    on_event(Phase("drawing candidates"))
    job = _Job(prepared, prepared.tasks, folder, on_event)
    if publish is None or (folder / AGAIN).is_file():
        taught = job.teach(prepared.clock)
    else:
        taught = job.teach(prepared.clock.within(FIRST_SECONDS))
        servings = taught.servings(prepared)
        if any(serving.encoder for serving in servings.values()):
            publish(servings)
        if not taught.compared or (taught.unread and prepared.clock.left > FIRST_SECONDS):
            job.forget(taught)
            taught = job.teach(prepared.clock)
    servings = job.finish(taught)
    _keep_only_used(folder, servings)
    return Trained(folder, manifest_of(servings, change), prepared.missing)


def manifest_of(servings: Mapping[TaskName, Serving], change: int) -> Manifest:
    return Manifest(utc_now(), servings.get("questions"), servings.get("answers"), change)


@dataclass(frozen=True, eq=False)
class _Taught:
    """What learnt from a teacher, or without one."""

    contests: Sequence[TaskContest]
    teacher: teaching.ArchiveTeacher | None
    student: ArchiveStudent | None

    @property
    def unread(self) -> bool:
        """Whether the teacher had no time to read everything."""
        return self.teacher is not None and bool(self.teacher.unread)

    @property
    def compared(self) -> bool:
        """Whether the teacher had read enough of every task to be compared."""
        return all(one.reading is None or one.reading.tried for one in self.contests)

    def servings(self, prepared: Prepared) -> dict[TaskName, Serving]:
        servings = self.unlabelled(prepared)
        return servings | {x.run.name: x.serving(prepared.archive) for x in self.contests}

    def unlabelled(self, prepared: Prepared) -> dict[TaskName, Serving]:
        """What serves tasks without labels."""
        if self.teacher is None and prepared.options.encoder is not None:
            return {}
        fast, archive = STUDENT if self.student is not None else None, prepared.archive
        return {
            name: teaching.unlabelled(self.teacher, archive, name, fast)
            for name in prepared.missing
        }


@dataclass(frozen=True, eq=False)
class _Job:
    prepared: Prepared
    tasks: Mapping[TaskName, ArchiveTask]
    folder: Path
    on_event: OnEvent

    def teach(self, clock: Clock) -> _Taught:
        """Let the teacher read, then train what learns from it."""
        prepared, options = self.prepared, self.prepared.options
        teacher, student = None, None
        if prepared.teacher is not None:
            texts = student_texts(
                prepared.labels.archive, self.tasks.values(), DISTIL.texts, options.seed
            )
            teacher = self._read(list(map(plain, texts)), clock)
            self.on_event(Phase("learning the teacher's space"))
            student = learn_student(
                teacher,
                texts,
                prepared.labels.archive,
                self.folder / STUDENT,
                options.seed,
                clock.part(STUDENT_SHARE),
                self.on_event,
            )
        words = cache(self._learn_words)
        shared = clock, options.seed, self.on_event, teacher, student
        runs = [
            TaskTraining(name, task, words, self.folder / name, *shared)
            for name, task in self.tasks.items()
        ]
        later = clock is prepared.clock  # what follows shares the time
        clock.questions = sum(run.taught_questions + later * run.own_questions for run in runs)
        contests = [TaskContest.of(run) for run in runs]
        for contest in contests:
            contest.teach(options.encoder)
        return _Taught(contests, teacher, student)

    def finish(self, taught: _Taught) -> dict[TaskName, Serving]:
        """Try what needs no teacher, and select."""
        clock, model = self.prepared.clock, self.prepared.options.encoder
        clock.questions = sum(contest.run.own_questions for contest in taught.contests)
        servings = taught.unlabelled(self.prepared)
        before: TaskContest | None = None
        for contest in taught.contests:
            run = replace(contest.run, clock=clock)
            contest.try_others(run, model, before)
            pair = contest.train_pair(run)
            servings[run.name] = contest.serving(self.prepared.archive, pair)
            before = contest
        return servings

    def forget(self, taught: _Taught) -> None:
        """Remove what was trained, which is published, to train it again."""
        (self.folder / AGAIN).touch()
        (self.folder / UNREAD).unlink()
        for name in (STUDENT, *self.tasks):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def _read(self, texts: Sequence[str], clock: Clock) -> teaching.ArchiveTeacher:
        """Let the teacher read; a run that resumes knows what the stopped one had read."""
        prepared, record = self.prepared, self.folder / UNREAD
        assert prepared.teacher is not None
        names = prepared.options.tasks
        order = teaching.reading_order(self.tasks, prepared.archive, names, texts)
        if record.is_file():
            return teaching.load_unread(record, prepared.teacher, order)
        self.on_event(Phase(f"reading posts with {prepared.teacher.record.source}"))
        read = partial(teaching.read_archive, prepared.teacher, on_event=self.on_event)
        if clock is prepared.clock:
            # so that the machine's other work does not decide whether the teacher serves
            read(teaching.least_to_read(self.tasks), 60 * prepared.options.minutes)
        teacher = read(order, READ_SHARE * clock.left)
        teaching.save_unread(record, teacher)
        return teacher

    def _learn_words(self) -> ArchiveWords:
        self.on_event(Phase("learning words"))
        datasets = [task.dataset for task in self.tasks.values()]
        options = self.prepared.options
        return learn_words(datasets, options.vectors, options.seed, self.folder / WORDS)


def _keep_only_used(folder: Path, servings: Mapping[TaskName, Serving]) -> None:
    """Remove models that do not serve, checkpoints, and the notes for a resume."""
    used = {path for serving in servings.values() for path in serving.models}
    models = [f"{name}/{path.name}" for name in servings for path in (folder / name).glob("*")]
    for model in (STUDENT, *models):
        if model not in used:
            shutil.rmtree(folder / model, ignore_errors=True)
        for checkpoint in (folder / model).glob("*checkpoint"):
            shutil.rmtree(checkpoint, ignore_errors=True)
    for name in (UNREAD, AGAIN):
        (folder / name).unlink(missing_ok=True)
