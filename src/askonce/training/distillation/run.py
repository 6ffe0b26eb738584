"""The stages of a student: an adapter if asked for, the texts, then the start of fine-tuning."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lightning_fabric import Fabric

from askonce.config import settings
from askonce.ranker import Ranker
from askonce.teachers.teacher import Teacher
from askonce.text.lexicon import Lexicon
from askonce.training.distillation.adapted import AdaptedTeacher, open_teacher
from askonce.training.distillation.beside import BesideTeacher
from askonce.training.distillation.settings import AdapterSettings, DistilSettings
from askonce.training.distillation.student import Texts, distil, first_words
from askonce.training.distillation.texts import archive_posts, read_beside, texts_of
from askonce.training.events import OnEvent, Phase
from askonce.training.fine_tuning import FineTuning, Outcome, fit, train
from askonce.training.prepare import every_post, start_from, untrained
from askonce.training.processes import alone
from askonce.training.recipe import Recipe, TextSettings
from askonce.types import Dataset

ADAPTER = "adapter"  # its folder, inside that of the student


def distil_recipe(
    recipe: Recipe,
    table: Mapping[str, Any],
    dataset: Dataset,
    folder: Path,
    on_event: OnEvent,
    fabric: Fabric | None = None,
) -> tuple[Ranker, BesideTeacher]:
    """A student that has learnt its teacher's space, and the teacher to tune it beside."""
    config = settings(DistilSettings, table, "distil.")
    seed = recipe.train.seed
    teacher = _teacher(recipe, config, dataset, folder / ADAPTER, on_event, fabric)
    on_event(Phase("learning the teacher's space"))
    text = recipe.text
    posts = every_post(dataset)
    lexicon = Lexicon.build(posts, dataset.tokeniser, text.min_count, text.max_words)
    chosen = texts_of(archive_posts(dataset), config.texts, config.sentences, seed)
    read = read_beside(lexicon, teacher, chosen, on_event)
    texts = Texts.split(read, config.held_out, seed)
    vectors = first_words(texts.learnt, lexicon.vocabulary)
    options = {**recipe.options, **config.options}
    ranker = Ranker.create(recipe.model, lexicon, vectors, options, seed)
    distil(ranker, texts, config, folder, seed, on_event, fabric)
    return start_from(recipe, folder), BesideTeacher(teacher, config.kl, config.cosine)


def tune_student(
    student: tuple[Ranker, BesideTeacher],
    recipe: Recipe,
    dataset: Dataset,
    folder: Path,
    on_event: OnEvent,
    fabric: Fabric | None = None,
) -> Outcome:
    """Train a student of ``distil_recipe`` on the labels, beside its teacher."""
    ranker, beside = student
    learner = FineTuning(ranker, dataset, recipe, folder, fabric or alone(), beside)
    return fit(learner, recipe.train, folder, on_event)


def _teacher(
    recipe: Recipe,
    config: DistilSettings,
    dataset: Dataset,
    folder: Path,
    on_event: OnEvent,
    fabric: Fabric | None,
) -> Teacher:
    if config.adapter is None:
        return open_teacher(config.teacher)
    on_event(Phase("training the adapter of the teacher"))
    own = _adapter_recipe(recipe, config.teacher, config.adapter)
    train(untrained(own, dataset, None, on_event), dataset, own, folder, on_event, fabric)
    return AdaptedTeacher(folder)


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
