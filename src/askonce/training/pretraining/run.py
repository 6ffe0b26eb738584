"""Which pre-training a model has, from its recipe."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askonce.config import settings
from askonce.models.language_model import LanguageModelReader
from askonce.training.events import OnEvent
from askonce.training.prepare import untrained
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
    fabric = launched()
    ranker = untrained(recipe, dataset, vectors)
    if isinstance(ranker.model, LanguageModelReader):
        language = settings(LanguageModelSettings, table, "pretrain.")
        return pretrain_language_models(ranker, dataset, language, folder, on_event, fabric)
    told = settings(PretrainSettings, table, "pretrain.")
    return pretrain(ranker, dataset, told, folder, on_event, fabric)
