"""Train the models of one task that may serve: encoders and a pair model."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from askonce.index.base import KeyEncoder
from askonce.key_encoders import RankerKeys, SentenceKeys
from askonce.ranker import Ranker
from askonce.ranking.manifest import SENTENCE, TaskName
from askonce.teachers import STARTER
from askonce.teachers.lexicon import TeacherLexicon
from askonce.training.archive.clock import Clock
from askonce.training.archive.held_out import EncodedPosts
from askonce.training.archive.pools import ArchiveTask
from askonce.training.archive.recipes import (
    PRETRAINING,
    adapter_recipe,
    encoder_recipe,
    pair_recipe,
)
from askonce.training.archive.teaching import ArchiveTeacher
from askonce.training.archive.words import ArchiveWords
from askonce.training.events import Note, OnEvent, Phase
from askonce.training.fine_tuning import Outcome, train
from askonce.training.prepare import start_from
from askonce.training.pretraining.encoder_decoder import MODELS as PRETRAINABLE
from askonce.training.pretraining.encoder_decoder import pretrain
from askonce.training.recipe import Recipe
from askonce.types import Dataset, Post

EPOCH_QUESTIONS = 300  # of dev, to compare epochs; what serves is selected on all of dev
MIN_BODIES = 1000  # questions with a title and a body; fewer do not train a decoder
PAIR_QUESTIONS = 6000  # to train a pair model on; each costs as much as ten for an encoder
RERANK_SECONDS = 0.06  # of one core, the limit for a pair model and one question
ENCODER, ADAPTER, PAIR, PRETRAINED = "encoder", "adapter", "pair", "pretrained"  # folders
SIDES: dict[TaskName, tuple[int, ...]] = {"questions": (1,), "answers": (1, 2)}  # of adapters


@dataclass(frozen=True, eq=False)
class TaskTraining:
    """One task of an archive, and what its training runs share with those of other tasks."""

    name: TaskName
    task: ArchiveTask
    words: ArchiveWords
    folder: Path  # of this task; a run that was stopped resumes from it
    clock: Clock
    seed: int
    on_event: OnEvent
    teacher: ArchiveTeacher | None = None

    @property
    def encoder_data(self) -> Dataset:
        """The pools that encoders learn from."""
        dataset = self.task.dataset
        dev = dataset.role("dev")[:EPOCH_QUESTIONS]
        return replace(dataset, splits={**dataset.splits, dataset.dev: dev})

    @property
    def pair_data(self) -> Dataset:
        """The pools that a pair model learns from: the newest."""
        dataset = self.encoder_data
        newest = dataset.role("train")[-PAIR_QUESTIONS:]
        return replace(dataset, splits={dataset.train: newest, dataset.dev: dataset.role("dev")})

    @property
    def questions(self) -> int:
        """How many questions all models of the task learn from, by which time is shared."""
        encoders = 1 + (len(SIDES[self.name]) if self.teacher else 0)
        return encoders * _questions(self.encoder_data) + _questions(self.pair_data)

    def say(self, text: str) -> None:
        """Report what begins now."""
        self.on_event(Phase(text, self.name))

    def note(self, text: str) -> None:
        """Report what was left out, and why."""
        self.on_event(Note(f"{self.name}: {text}"))


@dataclass(frozen=True, eq=False)
class TrainedEncoder:
    """An encoder that may serve."""

    name: str
    place: str  # as a manifest names it
    coder: KeyEncoder
    task: TaskName | None = None  # that it was trained for; None for a teacher as it comes
    history: Sequence[Mapping[str, Any]] = ()  # one record per epoch
    teacher: str | None = None  # whose space its vectors are in
    sides: int = 1  # 2: questions and answers have maps of their own, so it is for answers only


def encoders(
    run: TaskTraining, model: str | None, others: Sequence[TrainedEncoder]
) -> Iterator[TrainedEncoder]:
    """Encoders to compare, the ones that need the least labels first.

    These are the teacher as it comes and adapters over its vectors, or the starter without a
    teacher; an encoder trained on the archive's words (a student would be one more); and
    ``others``, which were trained for another task. ``model`` is the encoder
    that the user asked for.
    """
    teacher = run.teacher
    if teacher is not None and teacher.reading(run.task).tried:
        coder = SentenceKeys(teacher.teacher)
        yield TrainedEncoder(teacher.name, teacher.place, coder, teacher=teacher.name)
        yield from _train_adapters(run, teacher)
    elif model is None:
        yield TrainedEncoder(STARTER, f"{SENTENCE}{STARTER}", SentenceKeys(STARTER))
    if teacher is None or model is None:  # otherwise the user asked for the teacher
        yield _train_encoder(run, model)
    yield from others


def encode_posts(run: TaskTraining, task: ArchiveTask, encoder: TrainedEncoder) -> EncodedPosts:
    """The posts of a task by an encoder, to compare it."""
    name = encoder.name if encoder.task in (None, run.name) else f"{encoder.name} of {encoder.task}"
    run.say(f"measuring {name}")
    keys = encoder.coder.candidate_keys(task.posts)  # (N, K)
    return EncodedPosts(name, encoder.place, encoder.coder, keys, encoder.teacher)


def train_pair(run: TaskTraining, query: str, candidates: Sequence[Post]) -> Outcome | None:
    """The model that re-ranks; None where it would keep a reader waiting, or no time is left.

    ``query`` and ``candidates`` are an example of what it will read.
    """
    if run.clock.left == 0:
        return None
    recipe = pair_recipe(run.task.dataset.name, run.seed)
    ranker = run.words.ranker(recipe)
    seconds = cost(ranker, query, candidates)
    if seconds > RERANK_SECONDS:
        text = f"{ranker.name} takes {1000 * seconds:.0f} ms for {len(candidates)} candidates"
        run.note(f"no pair model, since {text}")
        return None
    return _train(run, ranker, run.pair_data, recipe, PAIR)


def _train_adapters(run: TaskTraining, teacher: ArchiveTeacher) -> Iterator[TrainedEncoder]:
    """Adapters over the teacher's vectors; for answers also one with a map for each side."""
    dataset = teacher.pools(run.encoder_data)
    if not all(dataset.splits.values()):
        return
    lexicon = TeacherLexicon(teacher=teacher.teacher)
    no_words = np.zeros((len(lexicon.vocabulary), 1), np.float32)
    for sides in SIDES[run.name]:
        recipe = adapter_recipe(dataset.name, run.seed, teacher.teacher, sides, _questions(dataset))
        ranker = Ranker.create(recipe.model, lexicon, no_words, recipe.options, run.seed)
        folder = ADAPTER if sides == 1 else f"{ADAPTER}-{sides}"
        outcome = _train(run, ranker, dataset, recipe, folder)
        # the teacher whose weights are loaded already
        trained = Ranker(outcome.ranker.name, outcome.ranker.model, lexicon, outcome.ranker.card)
        encoder = _trained(run, folder, trained, outcome)
        yield replace(encoder, teacher=teacher.name, sides=sides)


def _train_encoder(run: TaskTraining, model: str | None) -> TrainedEncoder:
    """The task's own encoder, pre-trained where there are enough titles and bodies."""
    dataset = run.encoder_data
    bodies = _bodies(dataset) >= MIN_BODIES
    kind = run.name if bodies or run.name == "answers" else "titles"
    recipe = encoder_recipe(kind, dataset.name, run.seed, model)
    ranker = run.words.ranker(recipe)
    if bodies and ranker.name in PRETRAINABLE:
        ranker = _pretrain(run, ranker, dataset, recipe)
    outcome = _train(run, ranker, dataset, recipe, ENCODER)
    return _trained(run, ENCODER, outcome.ranker, outcome)


def _trained(run: TaskTraining, folder: str, ranker: Ranker, outcome: Outcome) -> TrainedEncoder:
    history = tuple(outcome.progress.history[1:])  # of trained epochs: epoch 0 has no loss
    place = f"{run.name}/{folder}"
    return TrainedEncoder(
        ranker.name if folder == ENCODER else folder, place, RankerKeys(ranker), run.name, history
    )


def _pretrain(run: TaskTraining, ranker: Ranker, dataset: Dataset, recipe: Recipe) -> Ranker:
    run.say("pre-training")
    folder = run.folder / PRETRAINED
    run.clock.questions += _questions(dataset)  # not counted by TaskTraining.questions
    stop = run.clock.next(_questions(dataset))
    pretrain(ranker, dataset, replace(PRETRAINING, seed=run.seed), folder, run.on_event, stop=stop)
    return start_from(recipe, folder)


def _train(
    run: TaskTraining, ranker: Ranker, dataset: Dataset, recipe: Recipe, folder: str
) -> Outcome:
    run.say(f"training {ranker.name}")
    stop = run.clock.next(_questions(dataset))
    return train(ranker, dataset, recipe, run.folder / folder, run.on_event, stop=stop)


def _bodies(dataset: Dataset) -> int:
    """How many questions have a title and a body."""
    posts = {pool.query.id: pool.query for pool in dataset.role("train")} | dataset.posts
    return sum(bool(p.title and p.body and p.kind == "question") for p in posts.values())


def _questions(dataset: Dataset) -> int:
    return len(dataset.role("train"))


def cost(ranker: Ranker, query: str, candidates: Sequence[Post], times: int = 5) -> float:
    """Seconds of one core for ranking these candidates, however busy the machine is."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        seconds = []
        for _ in range(times):
            begin = time.process_time()
            ranker.rank(query, candidates)
            seconds.append(time.process_time() - begin)
        return min(seconds)
    finally:
        torch.set_num_threads(threads)
