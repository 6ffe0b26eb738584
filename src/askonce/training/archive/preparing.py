"""What a training on an archive begins with: options, labels, tasks, and what serves meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from askonce.archive import Snapshot
from askonce.errors import ConfigError, NotAnEncoder
from askonce.key_encoders import SentenceKeys
from askonce.models import MODELS
from askonce.models.base import Encoder
from askonce.ranking.manifest import SENTENCE, Serving
from askonce.teachers import MINILM, STARTER, CachedTeacher, load_teacher
from askonce.training.archive.candidates.task_training import Clock
from askonce.training.archive.candidates.teaching import (
    default_teacher,
    starter_serving,
    usual_weight,
)
from askonce.training.archive.selection.compare import select_bm25, select_encoder
from askonce.training.archive.selection.held_out import EncodedPosts, HeldOut
from askonce.training.archive.tasks.labels import ArchiveLabels
from askonce.training.archive.tasks.pools import (
    ArchiveTask,
    LabelledTask,
    draw_all,
    labelled_tasks,
)
from askonce.training.events import OnEvent, Phase
from askonce.types import TaskName

FIRST_QUESTIONS = 300  # of dev, to compare the starter with BM25 before training


@dataclass(frozen=True)
class TrainOptions:
    encoder: str | None = None  # a registered model, or a sentence-transformers model
    tasks: tuple[TaskName, ...] = ("questions", "answers")
    minutes: float = 10.0  # after which epochs are cut short
    vectors: Path | None = None  # a file of word vectors, besides those learnt from the archive
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.minutes > 0:
            raise ConfigError(f"minutes = {self.minutes}; expected more than 0")


@dataclass(frozen=True, eq=False)
class Prepared:
    """An archive with its labels and tasks, and the time that its training may take."""

    archive: Snapshot
    options: TrainOptions
    clock: Clock
    labels: ArchiveLabels
    labelled: Mapping[TaskName, LabelledTask]
    missing: Mapping[TaskName, str]  # why nothing can be learnt for a task

    @cached_property
    def tasks(self) -> Mapping[TaskName, ArchiveTask]:
        """The tasks with pools; drawn late, so that the starter need not wait for them."""
        return draw_all(self.labelled, self.options.seed)

    @cached_property
    def teacher(self) -> CachedTeacher | None:
        """The teacher with its weights; loaded late, so that the starter need not wait for it."""
        source = teacher_of(self.options.encoder)
        return load_teacher(source) if source is not None else None


def prepare(archive: Snapshot, options: TrainOptions, on_event: OnEvent) -> Prepared:
    """Gather labels; the time of the training begins now."""
    clock = Clock(60 * options.minutes)
    if options.encoder is not None and (source := teacher_of(options.encoder)) is not None:
        load_teacher(source)  # an error before any work
    on_event(Phase("reading marks and votes"))
    labels = ArchiveLabels.of(archive)
    labelled, missing = labelled_tasks(labels, options.tasks)
    return Prepared(archive, options, clock, labels, labelled, missing)


def first_servings(prepared: Prepared) -> dict[TaskName, Serving]:
    """The starter beside BM25, to serve during training; BM25 alone where dev does not gain."""
    servings = {name: starter_serving(name) for name in prepared.missing}
    tried = {name: _first_serving(name, task) for name, task in prepared.labelled.items()}
    return servings | tried


def _first_serving(name: TaskName, task: LabelledTask) -> Serving:
    dev, coder = HeldOut.of(task, "dev"), SentenceKeys(STARTER)
    splits = {"dev": replace(dev, queries=dev.queries[:FIRST_QUESTIONS])}
    keys = coder.candidate_keys(task.posts[: task.seen["dev"]])  # (N, K)
    usual = usual_weight(None)
    starter = EncodedPosts(STARTER, f"{SENTENCE}{STARTER}", coder, keys, usual_weight=usual)
    selected = select_encoder(splits, select_bm25(splits), [starter])
    if selected.encoder is None:
        return Serving()
    fusion = selected.served.fusion
    return replace(starter_serving(name), how=fusion.how, weights=fusion.weights)


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
