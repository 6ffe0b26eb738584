"""Train by a recipe: pre-train or distil, fine-tune, measure the ranker beside BM25."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from askonce.config import settings
from askonce.errors import ConfigError
from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.index.lexical import LexicalIndex
from askonce.models.language_model import LanguageModelReader
from askonce.ranker import Ranker
from askonce.training.averaging import fit_mean
from askonce.training.distillation.run import beside_cross_encoder, distil_recipe
from askonce.training.events import OnEvent, Phase, ignore
from askonce.training.fine_tuning import Beside, FineTuning, TrainedRanker, fit
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


@dataclass(frozen=True)
class RecipeTraining:
    """A recipe, what it is trained on, and a file of word vectors."""

    recipe: Recipe
    dataset: Dataset
    vectors: Path | None = None
    on_event: OnEvent = ignore

    def pretrain(self, table: Mapping[str, Any], folder: Path) -> list[dict[str, Any]]:
        """CABIN and ELMo learn two language models, the question encoders an encoder-decoder."""
        if self.recipe.text.vectors == "contextual":
            raise ConfigError(
                "text.vectors = 'contextual' come from a language model already; remove [pretrain] "
                "or set pretrain=false, and for 'cabin' and 'elmo' model.freeze_lm=false"
            )
        processes = launched()
        ranker = untrained(self.recipe, self.dataset, self.vectors)
        shared = folder, self.on_event, processes
        if isinstance(ranker.model, LanguageModelReader):
            language = settings(LanguageModelSettings, table, "pretrain.")
            return pretrain_language_models(ranker, self.dataset, language, *shared)
        return pretrain(
            ranker, self.dataset, settings(PretrainSettings, table, "pretrain."), *shared
        )

    def initial_ranker(self, table: Mapping[str, Any] | None, folder: Path) -> Ranker:
        """The ranker that fine-tuning starts from: with a table, pre-trained in the folder."""
        if table is None:
            return untrained(self.recipe, self.dataset, self.vectors, self.on_event)
        self.pretrain(table, folder)
        return start_from(self.recipe, folder)

    def train(self, before: Before, folders: tuple[Path, Path]) -> TrainedRanker:
        """Pre-train or distil into the first folder if a table says so, train into the second."""
        recipe, dataset, on_event = self.recipe, self.dataset, self.on_event
        first, folder = folders
        beside: Beside | None = None
        if before.distil is not None and not by_pairs(before.distil):
            ranker, beside = distil_recipe(
                recipe, before.distil, dataset, first, on_event, launched()
            )
        else:
            ranker = self.initial_ranker(before.pretrain, first)
            if before.distil is not None:
                dataset, beside = beside_cross_encoder(recipe, before.distil, dataset, on_event)
        return self._fit(ranker, dataset, folder, beside)

    def run(self, folder: Path, start: Path | Before) -> dict[str, Any]:
        """Train, then measure the ranker and BM25 on dev and test.

        ``start`` is the folder of a ranker to start from, or what comes before fine-tuning.
        """
        recipe, dataset = self.recipe, self.dataset
        self.on_event(Phase("building the vocabulary, reading vectors"))
        if isinstance(start, Path):
            trained = self._fit(start_from(recipe, start), dataset, folder)
        else:
            trained = self.train(start, (folder / DISTILLED, folder))
        self.on_event(Phase("measuring"))
        measured = {
            role: figures(trained.ranker, dataset.role(role), dataset)
            for role in ROLES
            if getattr(dataset, role) in dataset.splits
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

    def _fit(
        self, ranker: Ranker, dataset: Dataset, folder: Path, beside: Beside | None = None
    ) -> TrainedRanker:
        """Fine-tune, as often as the recipe says; several trainings are averaged."""
        recipe, processes, count = self.recipe, launched(), self.recipe.train.trainings
        if count == 1:
            learner = FineTuning(ranker, dataset, recipe, folder, processes, beside)
            return fit(learner, self.on_event)

        def training(number: int) -> FineTuning:
            seed = count * recipe.train.seed + number  # no two seeds of a recipe share a training
            own = replace(recipe, train=replace(recipe.train, seed=seed))
            start = Ranker(ranker.name, deepcopy(ranker.model), ranker.lexicon, ranker.card)
            path = folder / f"training-{number + 1}"
            return FineTuning(start, dataset, own, path, processes, beside)

        return fit_mean(count, training, folder, self.on_event)


def figures(ranker: Ranker, pools: Split, dataset: Dataset) -> dict[str, dict[str, float]]:
    """Metrics of the ranker and of BM25 on the same pools."""
    qrels = pools_to_qrels(pools)
    index = LexicalIndex.of(dataset.posts.values(), dataset.tokeniser)
    scores = {ranker.name: ranker.score_pools(pools), "bm25": [index.scores(p) for p in pools]}
    return {
        name: evaluate(qrels, pools_to_run(pools, values), dataset.protocol).metrics
        for name, values in scores.items()
    }
