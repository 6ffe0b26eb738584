"""The stages of a student: an adapter if asked for, the texts, then the labels beside the teacher.

A pair model has no space to learn: its teacher scores pairs, and only beside the labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from askonce.config import settings
from askonce.errors import AskonceError, ConfigError
from askonce.models import MODELS
from askonce.models.adapter import Adapter
from askonce.models.base import Encoder
from askonce.ranker import Ranker
from askonce.ranker_folder import CONFIG
from askonce.teachers.lexicon import TeacherLexicon
from askonce.teachers.starter import load_starter
from askonce.teachers.teacher import OnProgress, Teacher, load_teacher
from askonce.text.lexicon import Lexicon
from askonce.training.cross_encoder import CrossSettings
from askonce.training.distillation.beside import BesidePairTeacher, BesideTeacher
from askonce.training.distillation.pair_teacher import PairTeacher
from askonce.training.distillation.settings import (
    AdapterSettings,
    DistilSettings,
    PairDistilSettings,
)
from askonce.training.distillation.student import Distillation, TeacherTexts, first_words, start_as
from askonce.training.distillation.texts import archive_posts, read_beside, texts_of, with_mined
from askonce.training.epochs import run_epochs
from askonce.training.events import OnEvent, Phase
from askonce.training.fine_tuning import train
from askonce.training.prepare import every_post, start_from, untrained
from askonce.training.processes import ALONE, Processes
from askonce.training.recipe import Recipe, TextSettings
from askonce.types import Dataset

TEACHER_DEV_POOLS = 100  # that choose the epoch of a cross-encoder
ADAPTER = "adapter"  # its folder, inside that of the student


CHUNK = 4096  # texts that are mapped at a time


class AdaptedTeacher:
    """A saved adapter: the cached vectors of its teacher, then the map."""

    def __init__(self, folder: Path) -> None:
        ranker = Ranker.load(folder)
        if not isinstance(ranker.model, Adapter) or not isinstance(ranker.lexicon, TeacherLexicon):
            raise AskonceError(
                f"{str(folder)!r} holds a {ranker.name!r}; a student learns from an adapter or "
                "from a sentence-transformers model"
            )
        config = ranker.model.config
        if config.sides != 1 or config.space != "cosine":
            raise AskonceError(
                f"the adapter of {str(folder)!r} has two sides or hyperbolic distances; a student "
                "needs one space: train it with model.sides = 1 and model.space = 'cosine'"
            )
        self._map = ranker.model.bends[0]
        self._teacher = ranker.lexicon.teacher
        self.name, self.dim = f"{self._teacher.name}-adapted", self._teacher.dim

    @property
    def parameters(self) -> int:
        return self._teacher.parameters + sum(weight.numel() for weight in self._map.parameters())

    def encode(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> np.ndarray:
        vectors = torch.from_numpy(self._teacher.encode(texts, on_progress))  # (n, D)
        with torch.inference_mode():
            mapped = [self._map(part) for part in torch.split(vectors, CHUNK)]
            return torch.nn.functional.normalize(torch.cat(mapped), dim=-1).numpy()


def open_teacher(source: str) -> Teacher:
    """The adapter of a ranker folder, or a sentence-transformers model behind its cache."""
    folder = Path(source)
    # folders of sentence-transformers have a config.json too, but no vocabulary.tsv
    if (folder / CONFIG).is_file() and (folder / "vocabulary.tsv").is_file():
        return AdaptedTeacher(folder)
    return load_teacher(source)


def distil_recipe(
    recipe: Recipe,
    table: Mapping[str, Any],
    dataset: Dataset,
    folder: Path,
    on_event: OnEvent,
    processes: Processes = ALONE,
) -> tuple[Ranker, BesideTeacher]:
    """A student that has learnt its teacher's space, and the teacher to tune it beside."""
    config = settings(DistilSettings, table, "distil.")
    seed = recipe.train.seed
    if config.adapter is None:
        teacher = open_teacher(config.teacher)
    else:
        on_event(Phase("training the adapter of the teacher"))
        own, home = _adapter_recipe(recipe, config.teacher, config.adapter), folder / ADAPTER
        train(untrained(own, dataset, None, on_event), dataset, own, home, on_event, processes)
        teacher = AdaptedTeacher(home)
    on_event(Phase("learning the teacher's space"))
    text = recipe.text
    posts = every_post(dataset)
    lexicon = Lexicon.build(posts, dataset.tokeniser, text.min_count, text.max_words)
    chosen = texts_of(archive_posts(dataset), config.texts, config.sentences, seed)
    read = read_beside(lexicon, teacher, chosen, on_event)
    texts = TeacherTexts.split(read, config.held_out, seed)
    vectors = first_words(texts.learnt, lexicon.vocabulary)
    options = {**recipe.options, **config.options}
    ranker = Ranker.create(recipe.model, lexicon, vectors, options, seed)
    if config.start == "starter":
        start_as(ranker, load_starter())
    run_epochs(Distillation(ranker, texts, config, folder, seed, processes), on_event)
    beside = BesideTeacher(teacher, config.kl, config.cosine, recipe.train.scale)
    return start_from(recipe, folder), beside


def beside_cross_encoder(
    recipe: Recipe, table: Mapping[str, Any], dataset: Dataset, on_event: OnEvent
) -> tuple[Dataset, BesidePairTeacher]:
    """The dataset with the mined texts, and the teacher of a pair model."""
    config = settings(PairDistilSettings, table, "distil.")
    source = recipe.train.negatives.source
    if issubclass(MODELS[recipe.model], Encoder):
        raise ConfigError(
            f"distil.teacher = {config.teacher!r} scores pairs, but {recipe.model!r} is an "
            "encoder; name a sentence encoder such as 'minilm'"
        )
    if source == "batch" or (config.mined and source != "all"):
        raise ConfigError(
            f"train.negatives.source = {source!r}; beside a cross-encoder choose 'pool' or 'all', "
            "and 'all' for distil.mined"
        )
    tuning = CrossSettings(config.epochs, config.examples, dev_pools=TEACHER_DEV_POOLS)
    watch, split = recipe.train.watch, recipe.train.split or dataset.train
    on_event(Phase("reading pairs with the cross-encoder"))
    teacher = PairTeacher(config.checkpoint, dataset, tuning, watch, on_event=on_event)
    return with_mined(dataset, split, config.mined), BesidePairTeacher(teacher, config, on_event)


def _adapter_recipe(recipe: Recipe, teacher: str, config: AdapterSettings) -> Recipe:
    """The recipe's own loss and negatives."""
    training = replace(
        recipe.train,
        epochs=config.epochs,
        patience=config.patience,
        batch_size=config.batch_size or recipe.train.batch_size,
        rate=config.rate,
        optimiser="adam",
        schedule="constant",
        l2=0.0,
    )
    text = TextSettings(teacher=teacher)  # it reads no words
    return Recipe("adapter", recipe.dataset, dict(config.options), text, training)
