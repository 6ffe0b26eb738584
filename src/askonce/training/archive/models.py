"""Train the encoder and the pair model of one task of an archive."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from askonce.ranker import Ranker
from askonce.ranking.manifest import TaskName
from askonce.training.archive.clock import Clock
from askonce.training.archive.pools import ArchiveTask
from askonce.training.archive.recipes import PRETRAINING, encoder_recipe, pair_recipe
from askonce.training.archive.words import ArchiveWords
from askonce.training.events import Note, OnEvent, Phase
from askonce.training.fine_tuning import train
from askonce.training.prepare import start_from
from askonce.training.pretraining.encoder_decoder import MODELS as PRETRAINABLE
from askonce.training.pretraining.encoder_decoder import pretrain
from askonce.training.recipe import Recipe
from askonce.types import Dataset, Post

EPOCH_QUESTIONS = 300  # of dev, by which epochs are compared; what serves is chosen on all
ENOUGH_BODIES = 1000  # questions with a title and a body; fewer teach a decoder nothing
PAIR_QUESTIONS = 6000  # that a pair model learns from; each costs as much as ten of an encoder
RERANK_SECONDS = 0.06  # of one core that a pair model may take for one question
ENCODER, PAIR, PRETRAINED = "encoder", "pair", "pretrained"  # folders


@dataclass(eq=False)
class ModelTraining:
    """The trainings of one task, in a folder of its own; one that was stopped goes on."""

    name: TaskName
    task: ArchiveTask
    words: ArchiveWords
    folder: Path
    clock: Clock
    seed: int
    on_event: OnEvent
    history: list[dict[str, Any]] = field(default_factory=list)  # of the first one trained

    def __post_init__(self) -> None:
        dataset = self.task.dataset
        few = dataset.role("dev")[:EPOCH_QUESTIONS]
        self._dataset = replace(dataset, splits={**dataset.splits, dataset.dev: few})
        some = dataset.role("train")[-PAIR_QUESTIONS:]
        self._pairs = replace(dataset, splits={dataset.train: some, dataset.dev: few})
        self.clock.questions += sum(_questions(d) for d in (self._dataset, self._pairs))

    def encoder(self, model: str | None) -> Ranker:
        """The task's encoder, pre-trained where there are titles and bodies to learn from."""
        bodies = self._bodies() >= ENOUGH_BODIES
        kind = self.name if bodies or self.name == "answers" else "titles"
        recipe = encoder_recipe(kind, self._dataset.name, self.seed, model)
        ranker = self.words.ranker(recipe)
        if bodies and ranker.name in PRETRAINABLE:
            ranker = self._pretrained(ranker, recipe)
        return self._trained(ranker, self._dataset, recipe, ENCODER)

    def pair(self, query: str, candidates: Sequence[Post]) -> Ranker | None:
        """The model that re-ranks; None where it would keep a reader waiting, or no time is left.

        ``query`` and ``candidates`` are of the kind that it will be asked for.
        """
        recipe = pair_recipe(self._dataset.name, self.seed)
        ranker = self.words.ranker(recipe)
        seconds = cost(ranker, query, candidates)
        if seconds > RERANK_SECONDS:
            text = f"{ranker.name} takes {1000 * seconds:.0f} ms for {len(candidates)} candidates"
            self.on_event(Note(f"{self.name}: no pair model, since {text}"))
            return None
        return self._trained(ranker, self._pairs, recipe, PAIR)

    def _pretrained(self, ranker: Ranker, recipe: Recipe) -> Ranker:
        self._say("pre-training")
        place = self.folder / PRETRAINED
        settings = replace(PRETRAINING, seed=self.seed)
        count = _questions(self._dataset)
        self.clock.questions += count  # it comes besides what was counted
        stop = self.clock.next(count)
        pretrain(ranker, self._dataset, settings, place, self.on_event, stop=stop)
        return start_from(recipe, place)

    def _trained(self, ranker: Ranker, dataset: Dataset, recipe: Recipe, phase: str) -> Ranker:
        self._say(f"training {ranker.name}")
        place = self.folder / phase
        stop = self.clock.next(_questions(dataset))
        outcome = train(ranker, dataset, recipe, place, self.on_event, stop=stop)
        # epoch 0 has no loss to draw
        self.history = self.history or outcome.progress.history[1:]
        return outcome.ranker

    def _say(self, text: str) -> None:
        self.on_event(Phase(text, self.name))

    def _bodies(self) -> int:
        posts = {pool.query.id: pool.query for pool in self._dataset.role("train")}
        posts |= self._dataset.posts
        return sum(bool(p.title and p.body and p.kind == "question") for p in posts.values())


def _questions(dataset: Dataset) -> int:
    return len(dataset.role("train"))


def cost(ranker: Ranker, query: str, candidates: Sequence[Post], times: int = 5) -> float:
    """Seconds of one core that ranking these takes, however busy the machine is."""
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
