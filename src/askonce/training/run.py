"""Train by a recipe: pre-train or distil, fine-tune, measure the ranker beside BM25."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askonce.config import settings
from askonce.errors import ConfigError
from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.index.lexical import LexicalIndex
from askonce.models.language_model import LanguageModelReader
from askonce.ranker import Ranker
from askonce.training.distillation.run import beside_cross_encoder, distil_recipe
from askonce.training.events import OnEvent, Phase
from askonce.training.fine_tuning import FineTuning, TrainedRanker, fit, train
from askonce.training.prepare import start_from, untrained
from askonce.training.pretraining.encoder_decoder import PretrainSettings, pretrain
from askonce.training.pretraining.language_models import (
    LanguageModelSettings,
    pretrain_language_models,
)
from askonce.training.processes import launched
from askonce.training.recipe import Before, Recipe, by_pairs
from askonce.types import Dataset, Role, Split

ROLES: tuple[Role, ...] = ("dev", "test")
DISTILLED = "distilled"  # folder of the student before it is tuned, inside that of the run


def pretrain_recipe(
    recipe: Recipe,
    table: Mapping[str, Any],
    dataset: Dataset,
    folder: Path,
    vectors: Path | None,
    on_event: OnEvent,
) -> list[dict[str, Any]]:
    """CABIN and ELMo learn two language models, the question encoders an encoder-decoder."""
    if recipe.text.vectors == "contextual":
        raise ConfigError(
            "text.vectors = 'contextual' come from a language model already; remove [pretrain] or "
            "set pretrain=false, and for 'cabin' and 'elmo' model.freeze_lm=false"
        )
    processes = launched()
    ranker = untrained(recipe, dataset, vectors)
    if isinstance(ranker.model, LanguageModelReader):
        language = settings(LanguageModelSettings, table, "pretrain.")
        return pretrain_language_models(ranker, dataset, language, folder, on_event, processes)
    config = settings(PretrainSettings, table, "pretrain.")
    return pretrain(ranker, dataset, config, folder, on_event, processes)


def initial_ranker(
    recipe: Recipe,
    table: Mapping[str, Any] | None,
    dataset: Dataset,
    folder: Path,
    vectors: Path | None,
    on_event: OnEvent,
) -> Ranker:
    """The ranker that fine-tuning starts from: pre-trained in the folder if there is a table."""
    if table is None:
        return untrained(recipe, dataset, vectors, on_event)
    pretrain_recipe(recipe, table, dataset, folder, vectors, on_event)
    return start_from(recipe, folder)


def train_stages(
    recipe: Recipe,
    before: Before,
    dataset: Dataset,
    folders: tuple[Path, Path],
    vectors: Path | None,
    on_event: OnEvent,
) -> TrainedRanker:
    """Pre-train or distil into the first folder if a table says so, then train into the second."""
    processes = launched()
    first, folder = folders
    if before.distil is not None and not by_pairs(before.distil):
        ranker, teacher = distil_recipe(recipe, before.distil, dataset, first, on_event, processes)
        return fit(FineTuning(ranker, dataset, recipe, folder, processes, teacher), on_event)
    ranker = initial_ranker(recipe, before.pretrain, dataset, first, vectors, on_event)
    if before.distil is not None:
        longer, beside = beside_cross_encoder(recipe, before.distil, dataset, on_event)
        return fit(FineTuning(ranker, longer, recipe, folder, processes, beside), on_event)
    return train(ranker, dataset, recipe, folder, on_event, processes)


def run_recipe(
    recipe: Recipe,
    dataset: Dataset,
    folder: Path,
    vectors: Path | None,
    start: Path | Before,
    on_event: OnEvent,
) -> dict[str, Any]:
    """Train by a recipe, then measure the ranker and BM25 on dev and test.

    ``start`` is the folder of a ranker to start from, or what comes before fine-tuning.
    """
    on_event(Phase("building the vocabulary, reading vectors"))
    if isinstance(start, Path):
        trained = train(start_from(recipe, start), dataset, recipe, folder, on_event, launched())
    else:
        folders = folder / DISTILLED, folder
        trained = train_stages(recipe, start, dataset, folders, vectors, on_event)
    on_event(Phase("measuring"))
    measured = {
        role: figures(trained.ranker, dataset.role(role), dataset)
        for role in ROLES
        if has(dataset, role)
    }
    return {
        "model": recipe.model,
        "dataset": dataset.name,
        "folder": str(folder),
        "parameters": trained.ranker.model.trainable_parameters(),
        "epochs": trained.progress.epoch,
        "best_epoch": trained.progress.best_epoch,
        "seconds": round(trained.progress.seconds, 1),
        "figures": measured,
    }


def has(dataset: Dataset, role: Role) -> bool:
    return getattr(dataset, role) in dataset.splits


def figures(ranker: Ranker, pools: Split, dataset: Dataset) -> dict[str, dict[str, float]]:
    """Metrics of the ranker and of BM25 on the same pools."""
    qrels = pools_to_qrels(pools)
    index = LexicalIndex.of(dataset.posts.values(), dataset.tokeniser)
    scores = {ranker.name: ranker.score_pools(pools), "bm25": [index.scores(p) for p in pools]}
    return {
        name: evaluate(qrels, pools_to_run(pools, values), dataset.protocol).metrics
        for name, values in scores.items()
    }
