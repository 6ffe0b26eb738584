"""One task of an archive while its models are trained, and the time that they share."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from askonce.files import replacing
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.text.vocabulary import Vocabulary
from askonce.training.archive.candidates.students import ArchiveStudent
from askonce.training.archive.candidates.teaching import ArchiveTeacher
from askonce.training.archive.tasks.pools import ArchiveTask
from askonce.training.epochs import Stop
from askonce.training.events import Note, OnEvent, Phase
from askonce.training.fine_tuning import TrainedRanker, train
from askonce.training.prepare import every_post, word_vectors
from askonce.training.recipe import Recipe, TextSettings
from askonce.types import Dataset, TaskName

VOCABULARY, VECTORS = "vocabulary.tsv", "vectors.npy"
MIN_COUNT = 2  # a word that occurs once has no context to learn from


@dataclass(frozen=True, eq=False)
class ArchiveWords:
    vocabulary: Vocabulary
    vectors: np.ndarray  # (V, E)

    def ranker(self, recipe: Recipe) -> Ranker:
        lexicon = Lexicon(self.vocabulary, max_words=recipe.text.max_words)
        seed = recipe.train.seed
        return Ranker.create(recipe.model, lexicon, self.vectors, recipe.options, seed)


def learn_words(
    datasets: Iterable[Dataset], given: Path | None, seed: int, folder: Path
) -> ArchiveWords:
    """Skip-gram vectors of all texts, fused with those of a file if one is given.

    They are saved in the folder, for a training run that is stopped and resumes.
    """
    if (folder / VECTORS).is_file():
        return ArchiveWords(Vocabulary.load(folder / VOCABULARY), np.load(folder / VECTORS))
    every = chain.from_iterable(every_post(dataset) for dataset in datasets)
    posts = list({post.text: post for post in every}.values())
    settings = TextSettings(MIN_COUNT, vectors="skipgram" if given is None else "fused")
    lexicon = Lexicon.build(posts, min_count=MIN_COUNT, max_words=settings.max_words)
    vectors = word_vectors(settings, lexicon, posts, given, seed)
    folder.mkdir(parents=True, exist_ok=True)
    lexicon.vocabulary.save(folder / VOCABULARY)
    with replacing(folder / VECTORS) as path:  # last: it marks both files as complete
        np.save(path, vectors)
    return ArchiveWords(lexicon.vocabulary, vectors)


EPOCH_QUESTIONS = 300  # of dev, to compare epochs; what serves is selected on all of dev
PAIR_QUESTIONS = 6000  # to train a pair model on; each costs as much as ten for an encoder
ADAPTER_SEEDS = 3  # trainings of an adapter, whose mean is compared
# that the trainings of an adapter, or a stage of a student, have at least. An epoch of an adapter
# over 14,000 questions takes 11 seconds of one core, and the first one gains most
LEAST_SECONDS = 20.0
ADAPTER_SIDES: dict[TaskName, tuple[int, ...]] = {"questions": (1,), "answers": (1, 2)}


@dataclass
class Clock:
    """Seconds for all training runs, shared in proportion to the questions of each."""

    seconds: float
    questions: int = 0  # of the runs still to come

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.seconds

    def within(self, seconds: float) -> "Clock":
        """A clock that begins now and ends after so many seconds, or with this one."""
        return Clock(min(seconds, self.left))

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    def part(self, share: float, least: float = 0.0) -> Stop:
        """When a run must stop that may take this share of what is left.

        It has ``least`` seconds in any case, even if nothing is left.
        """
        until = time.monotonic() + max(share * self.left, least)
        return lambda: time.monotonic() >= until

    def next(self, questions: int, least: float = 0.0) -> Stop:
        """When the next run must stop; time that earlier runs left is shared again."""
        share = questions / max(questions, self.questions)
        self.questions -= questions
        return self.part(share, least)


@dataclass(frozen=True, eq=False)
class TaskTraining:
    """One task of an archive, and what its training runs share with those of other tasks."""

    name: TaskName
    task: ArchiveTask
    words: Callable[[], ArchiveWords]  # learnt when they are first needed
    folder: Path  # of this task; a run that was stopped resumes from it
    clock: Clock
    seed: int
    on_event: OnEvent
    teacher: ArchiveTeacher | None = None
    student: ArchiveStudent | None = None

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
    def taught_questions(self) -> int:
        """How many questions adapters and students learn from, by which time is shared."""
        adapters = ADAPTER_SEEDS * len(ADAPTER_SIDES[self.name]) if self.teacher else 0
        encoders = adapters + 2 * bool(self.student)
        return encoders * question_count(self.encoder_data)

    @property
    def own_questions(self) -> int:
        """How many questions the models of the archive's own words learn from."""
        return question_count(self.encoder_data) + question_count(self.pair_data)

    def say(self, text: str) -> None:
        self.on_event(Phase(text, self.name))

    def note(self, text: str) -> None:
        self.on_event(Note(f"{self.name}: {text}"))


def train_model(
    run: TaskTraining, ranker: Ranker, dataset: Dataset, recipe: Recipe, folder: str
) -> TrainedRanker:
    """Train into a folder of the task, for its share of the time; resumes."""
    run.say(f"training {ranker.name}")
    stop = run.clock.next(question_count(dataset))
    return train(ranker, dataset, recipe, run.folder / folder, run.on_event, stop=stop)


def question_count(dataset: Dataset) -> int:
    return len(dataset.role("train"))
