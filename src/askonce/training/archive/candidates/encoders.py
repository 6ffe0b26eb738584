"""Train the encoders of one task that may serve."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from askonce.index.base import KeyEncoder
from askonce.key_encoders import RankerKeys, SentenceKeys
from askonce.ranker import Ranker
from askonce.ranking.manifest import SENTENCE
from askonce.teachers import STARTER
from askonce.teachers.lexicon import TeacherLexicon
from askonce.training.archive.candidates.recipes import (
    DISTIL,
    PRETRAINING,
    adapter_recipe,
    encoder_recipe,
    student_recipe,
)
from askonce.training.archive.candidates.students import STUDENT, bend_of, copied
from askonce.training.archive.candidates.task_training import (
    ADAPTER_SEEDS,
    ADAPTER_SIDES,
    LEAST_SECONDS,
    TaskTraining,
    question_count,
    train_model,
)
from askonce.training.archive.candidates.teaching import ArchiveTeacher, usual_weight
from askonce.training.archive.selection.held_out import EncodedPosts
from askonce.training.archive.tasks.pools import ArchiveTask
from askonce.training.averaging import fit_mean
from askonce.training.checkpoint import Progress
from askonce.training.distillation.beside import BesideTeacher
from askonce.training.distillation.student import Distillation
from askonce.training.epochs import run_epochs
from askonce.training.fine_tuning import FineTuning, fit
from askonce.training.prepare import start_from
from askonce.training.pretraining.encoder_decoder import MODELS as PRETRAINABLE
from askonce.training.pretraining.encoder_decoder import pretrain
from askonce.training.recipe import Recipe
from askonce.types import Dataset, TaskName

if TYPE_CHECKING:
    from askonce.models.adapter import Adapter

MIN_BODIES = 1000  # questions with a title and a body; fewer do not train a decoder
ADAPTER_EPOCHS = 3  # of a student over the texts, from the teacher's space to that of an adapter
ENCODER, ADAPTER, PRETRAINED = "encoder", "adapter", "pretrained"  # folders
FIRST = "student-first"  # that of a student before the labels


@dataclass(frozen=True, eq=False)
class TrainedEncoder:
    name: str
    location: str  # as a manifest names it
    coder: KeyEncoder
    task: TaskName | None = None  # that it was trained for; None for a teacher as it comes
    history: Sequence[Mapping[str, Any]] = ()  # one record per epoch
    teacher: str | None = None  # whose space its vectors are in
    sides: int = 1  # 2: questions and answers have maps of their own, so it is for answers only
    space_of: str | None = None  # of a student: the location of the encoder whose space it learnt

    @property
    def adapter(self) -> "Adapter | None":
        """The adapter that bends the teacher's vectors; None for a teacher as it comes."""
        from askonce.models.adapter import Adapter

        model = self.coder.ranker.model if self.coder.ranker is not None else None
        return model if isinstance(model, Adapter) else None


def teacher_encoders(run: TaskTraining, model: str | None) -> Iterator[TrainedEncoder]:
    """The teacher as it comes and adapters over its vectors; without a teacher, the starter.

    ``model`` is the encoder that the user asked for.
    """
    teacher = run.teacher
    if teacher is not None and teacher.reading(run.task).tried:
        coder = SentenceKeys(teacher.teacher)
        yield TrainedEncoder(teacher.name, teacher.location, coder, teacher=teacher.name)
        yield from _train_adapters(run, teacher)
    elif model is None:
        yield starter_encoder()


def starter_encoder() -> TrainedEncoder:
    return TrainedEncoder(STARTER, f"{SENTENCE}{STARTER}", SentenceKeys(STARTER))


def train_student(run: TaskTraining, space: TrainedEncoder) -> TrainedEncoder | None:
    """A student in the space of a teacher or an adapter; None where there is nothing to learn."""
    if run.student is None or space.teacher is None:
        return None
    dataset = run.student.teacher.pools(run.encoder_data)
    if not all(dataset.splits.values()):
        return None
    run.say("training the student")
    adapter, teacher, count = space.adapter, run.student.teacher.teacher, question_count(dataset)
    recipe = student_recipe(dataset.name, run.seed, adapter.config.sides if adapter else 1, count)
    ranker, bend = copied(run.student.ranker, adapter, recipe), bend_of(adapter)
    if adapter is not None:
        config, first = replace(DISTIL, epochs=ADAPTER_EPOCHS), run.folder / FIRST
        learner = Distillation(ranker, run.student.texts, config, first, run.seed, bend=bend)
        run_epochs(learner, run.on_event, run.clock.next(count, LEAST_SECONDS))
        ranker = start_from(recipe, first)
    beside = BesideTeacher(teacher, DISTIL.kl, DISTIL.cosine, recipe.train.scale, bend)
    tuning = FineTuning(ranker, dataset, recipe, run.folder / STUDENT, beside=beside)
    tuned = fit(tuning, run.on_event, run.clock.next(count, LEAST_SECONDS))
    student = _encoder(run, STUDENT, tuned.ranker, tuned.progress)
    return replace(student, teacher=space.teacher, sides=space.sides, space_of=space.location)


def own_encoders(run: TaskTraining, model: str | None) -> Iterator[TrainedEncoder]:
    """An encoder trained on the archive's words alone, unless the user asked for a teacher."""
    if run.teacher is None or model is None:
        yield _train_encoder(run, model)


def encode_posts(run: TaskTraining, task: ArchiveTask, encoder: TrainedEncoder) -> EncodedPosts:
    """The posts of a task by an encoder, to compare it."""
    name = encoder.name if encoder.task in (None, run.name) else f"{encoder.name} of {encoder.task}"
    run.say(f"measuring {name}")
    keys = encoder.coder.candidate_keys(task.posts)  # (N, K)
    usual = usual_weight(encoder.teacher) if encoder.task is None else None
    return EncodedPosts(name, encoder.location, encoder.coder, keys, encoder.teacher, usual)


def _train_adapters(run: TaskTraining, teacher: ArchiveTeacher) -> Iterator[TrainedEncoder]:
    """Adapters over the teacher's vectors; for answers also one with a map for each side.

    Each is the mean of several trainings, in random orders from the same weights, while there is
    time.
    """
    dataset = teacher.pools(run.encoder_data)
    if not all(dataset.splits.values()):
        return
    lexicon, count = TeacherLexicon(teacher=teacher.teacher), question_count(dataset)
    no_words = np.zeros((len(lexicon.vocabulary), 1), np.float32)
    for sides in ADAPTER_SIDES[run.name]:
        folder = ADAPTER if sides == 1 else f"{ADAPTER}-{sides}"
        stop = run.clock.next(ADAPTER_SEEDS * count, LEAST_SECONDS)
        run.say(f"training {folder}")

        def training(number: int, sides: int = sides, folder: str = folder) -> FineTuning:
            seed = run.seed + number
            recipe = adapter_recipe(dataset.name, seed, teacher.teacher, sides, count)
            ranker = Ranker.create(recipe.model, lexicon, no_words, recipe.options, run.seed)
            return FineTuning(ranker, dataset, recipe, run.folder / f"{folder}-seed-{seed}")

        mean = fit_mean(ADAPTER_SEEDS, training, run.folder / folder, run.on_event, stop)
        encoder = _encoder(run, folder, mean.ranker, mean.progress)
        yield replace(encoder, teacher=teacher.name, sides=sides)


def _train_encoder(run: TaskTraining, model: str | None) -> TrainedEncoder:
    """The task's own encoder, pre-trained where there are enough titles and bodies."""
    dataset = run.encoder_data
    bodies = _bodies(dataset) >= MIN_BODIES
    kind = run.name if bodies or run.name == "answers" else "titles"
    recipe = encoder_recipe(kind, dataset.name, run.seed, model)
    ranker = run.words().ranker(recipe)
    if bodies and ranker.name in PRETRAINABLE:
        ranker = _pretrain(run, ranker, dataset, recipe)
    trained = train_model(run, ranker, dataset, recipe, ENCODER)
    return _encoder(run, ENCODER, trained.ranker, trained.progress)


def _encoder(run: TaskTraining, folder: str, ranker: Ranker, progress: Progress) -> TrainedEncoder:
    name = ranker.name if folder == ENCODER else folder
    history = tuple(progress.history[1:])  # of trained epochs: epoch 0 has no loss
    return TrainedEncoder(name, f"{run.name}/{folder}", RankerKeys(ranker), run.name, history)


def _pretrain(run: TaskTraining, ranker: Ranker, dataset: Dataset, recipe: Recipe) -> Ranker:
    run.say("pre-training")
    folder = run.folder / PRETRAINED
    run.clock.questions += question_count(dataset)  # not counted by TaskTraining.own_questions
    stop = run.clock.next(question_count(dataset))
    pretrain(ranker, dataset, replace(PRETRAINING, seed=run.seed), folder, run.on_event, stop=stop)
    return start_from(recipe, folder)


def _bodies(dataset: Dataset) -> int:
    posts = {pool.query.id: pool.query for pool in dataset.role("train")} | dataset.posts
    return sum(bool(p.title and p.body and p.kind == "question") for p in posts.values())
