"""One task of an archive: the encoders that were tried so far, and what serves of them."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from askonce.archive import Snapshot
from askonce.key_encoders import RankerKeys
from askonce.ranking.manifest import SENTENCE, Serving, TeacherReading
from askonce.ranking.stages import PAIR
from askonce.teachers import STARTER
from askonce.training.archive.candidates.encoders import (
    TrainedEncoder,
    encode_posts,
    own_encoders,
    starter_encoder,
    teacher_encoders,
    train_student,
)
from askonce.training.archive.candidates.pair_model import TrainedPair, train_pair
from askonce.training.archive.candidates.students import STUDENT
from askonce.training.archive.candidates.task_training import TaskTraining
from askonce.training.archive.candidates.teaching import TEACHER_WEIGHTS
from askonce.training.archive.selection import compare
from askonce.training.archive.selection.calibrate import Calibrated, calibrate, weigh_votes
from askonce.training.archive.selection.held_out import HeldOut
from askonce.training.archive.tasks.pools import ArchiveTask

TYPING = "while typing"  # the system that is shown then, as a manifest names it


@dataclass(eq=False)
class TaskContest:
    """Encoders one by one, those that need the least labels first; a pair model on the best."""

    run: TaskTraining
    task: ArchiveTask  # without posts that the teacher has not read
    reading: TeacherReading | None
    splits: compare.Splits
    comparison: compare.EncoderComparison
    tried: list[TrainedEncoder] = field(default_factory=list)
    seconds: float = 0.0

    @classmethod
    def of(cls, run: TaskTraining) -> "TaskContest":
        teacher = run.teacher
        reading = teacher.reading(run.task) if teacher else None
        task = teacher.known(run.task) if teacher and reading and reading.tried else run.task
        splits = {split: HeldOut.of(task, split) for split in ("dev", "test")}
        comparison = compare.EncoderComparison(
            splits, compare.select_bm25(splits), task.labels == "titles"
        )
        return cls(run, task, reading, splits, comparison)

    def teach(self, model: str | None) -> None:
        """Try the teacher as it comes, its adapters, and the student of the best of these.

        ``model`` is the encoder that the user asked for.
        """
        with self._timed():
            self._add(teacher_encoders(self.run, model))
            if self.tried:
                best = self.comparison.best
                wanted = best.location if best else None
                space = next((one for one in self.tried if one.location == wanted), self.tried[0])
                student = train_student(self.run, space)
                self._add([student] if student is not None else [])

    def try_others(
        self, run: TaskTraining, model: str | None, others: "TaskContest | None"
    ) -> None:
        """Try an encoder of the archive's own words, and those of another task.

        ``run`` is the same task with the time for this. Where a teacher was tried and no time is
        left, an encoder of its own could learn nothing.
        """
        with self._timed():
            if run.clock.left > 0 or not (self.reading and self.reading.tried):
                self._add(own_encoders(run, model))
            self._add(others.shared() if others is not None else ())

    def shared(self) -> list[TrainedEncoder]:
        """The encoders trained here that may serve another task: with one side, no students."""
        name = self.run.name
        return [x for x in self.tried if x.task == name and x.sides == 1 and not x.space_of]

    def train_pair(self, run: TaskTraining) -> TrainedPair | None:
        with self._timed():
            return train_pair(
                run, *compare.longest_list(self.splits["dev"], self.comparison.selected)
            )

    def serving(self, archive: Snapshot, pair: TrainedPair | None = None) -> Serving:
        """What is best on dev of all that was tried so far."""
        with self._timed():
            selected = self.comparison.selected
            if pair is not None:
                self.run.say(f"measuring {pair.ranker.name}")
                selected = compare.select_pair(self.splits, selected, pair.ranker)
            calibrated = self._calibrate(selected)
            # a fast encoder in the space of the one that serves, and what is shown while typing
            fast = self._student(selected.encoder.location) if selected.encoder else None
            typed: compare.Measured | None = None
            if fast is not None:
                proxy = self.comparison.proxy
                typed = compare.while_typing(self.splits, selected, fast.coder, proxy)
                selected = replace(selected, systems={**selected.systems, TYPING: typed})
            unread = self._before_reading(selected, fast)
            fusion = selected.served.fusion
            if unread is not None:  # beside those of posts that were read
                systems = {**selected.systems, "bm25 of all posts": unread.systems["bm25"]}
                systems["fused of all posts"] = unread.served
                selected = replace(selected, systems=systems)
            serving = Serving(
                encoder=selected.encoder.location if selected.encoder else None,
                fast=fast.location if fast is not None else None,
                pair=pair.location if pair and selected.pair else None,
                how=fusion.how,
                weights=fusion.weights,
                unread_weights=unread.served.fusion.weights if unread is not None else {},
                typed_weights=typed.fusion.weights if typed is not None else {},
                calibration=calibrated.calibration,
                floor=calibrated.floor,
                close=calibrated.close,
                blend=weigh_votes(archive, self.task, self.splits["dev"], selected),
                labels=self.task.labels,
                figures=selected.figures() | calibrated.figures(),
                intervals=selected.intervals(self.splits),
                queries={name: len(queries) for name, queries in self.task.queries.items()},
                history=self._history(selected, pair),
                teacher=self.reading,
            )
        return self._with_teacher(replace(serving, seconds=round(self.seconds, 1)))

    def _calibrate(self, selected: compare.Selected) -> Calibrated:
        """Probabilities and floors of what serves.

        Of BM25 and words alone if the teacher had no time to read what is near enough questions.
        """
        task = self.run.task
        if self.task.asked.get("dev") or not task.asked.get("dev"):
            return calibrate(self.task, self.splits, selected)
        splits = {split: HeldOut.of(task, split) for split in ("dev", "test")}
        return calibrate(task, splits, compare.select_bm25(splits))

    def _with_teacher(self, serving: Serving) -> Serving:
        """Let a teacher that had no time to be compared read beside the starter in service."""
        teacher, starter = self.run.teacher, f"{SENTENCE}{STARTER}"
        if teacher is None or teacher.starter is None or serving.encoder != starter:
            return serving
        serving = replace(serving, encoder=teacher.location, fast=starter)
        if serving.how != "zscore" or PAIR in serving.weights:
            return serving
        own = serving.weights  # of the starter, which reads questions that are typed
        return replace(serving, weights=TEACHER_WEIGHTS, unread_weights=own, typed_weights=own)

    def _add(self, encoders: Iterable[TrainedEncoder]) -> None:
        for encoder in encoders:
            self.tried.append(encoder)
            self.comparison.add(encode_posts(self.run, self.task, encoder))

    def _before_reading(
        self, selected: compare.Selected, fast: TrainedEncoder | None
    ) -> compare.Selected | None:
        """What serves until the teacher has read all posts; None where it has."""
        posts = self.run.task.posts
        if fast is None or len(self.task.posts) == len(posts):
            return None
        self.run.say("measuring the student on all posts")
        splits = {
            split: replace(HeldOut.of(self.run.task, split), queries=own.queries)
            for split, own in self.splits.items()
        }
        return compare.before_reading(splits, selected, fast.coder, posts)

    def _student(self, encoder: str) -> TrainedEncoder | None:
        """The student of an encoder; of the teacher as it comes also one without labels."""
        for student in self.tried:
            if student.space_of == encoder:
                return student
        teacher = self.run.teacher
        if teacher is None or encoder != teacher.location:
            return None
        if self.run.student is not None:
            return TrainedEncoder(STUDENT, STUDENT, RankerKeys(self.run.student.ranker))
        return starter_encoder() if teacher.starter else None

    def _history(
        self, selected: compare.Selected, pair: TrainedPair | None
    ) -> tuple[Mapping[str, object], ...]:
        """The epochs of the encoder that serves, else of the pair model."""
        encoder = selected.encoder.location if selected.encoder else None
        histories = [one.history for one in self.tried if encoder and one.location == encoder]
        histories += [pair.progress.history[1:]] if pair is not None and selected.pair else []
        return tuple(next(filter(None, histories), ()))

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - begin
