"""Pre-training by a recipe's [pretrain] table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askonce.config import settings
from askonce.errors import ConfigError
from askonce.models.language_model import LanguageModelReader
from askonce.ranker import Ranker
from askonce.training.events import OnEvent
from askonce.training.prepare import start_from, untrained
from askonce.training.pretraining.encoder_decoder import PretrainSettings, pretrain
from askonce.training.pretraining.language_models import (
    LanguageModelSettings,
    pretrain_language_models,
)
from askonce.training.processes import launched
from askonce.training.recipe import Recipe
from askonce.types import Dataset


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
