"""`askonce train RECIPE`: make the ranker, train it, measure it beside BM25."""

from pathlib import Path
from typing import Any

from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.index.lexical import LexicalIndex
from askonce.ranker import Ranker
from askonce.training.events import OnEvent, Phase
from askonce.training.fine_tuning import train
from askonce.training.prepare import start_from, untrained
from askonce.training.processes import launched
from askonce.training.recipe import Recipe
from askonce.types import Dataset, Role, Split

ROLES: tuple[Role, ...] = ("dev", "test")


def run_recipe(
    recipe: Recipe,
    dataset: Dataset,
    folder: Path,
    vectors: Path | None,
    start: Path | None,
    on_event: OnEvent,
) -> dict[str, Any]:
    """Train by a recipe, then measure the ranker and BM25 on dev and test."""
    on_event(Phase("building the vocabulary, reading vectors"))
    fabric = launched()
    ranker = start_from(recipe, start) if start else untrained(recipe, dataset, vectors, on_event)
    outcome = train(ranker, dataset, recipe, folder, on_event, fabric)
    on_event(Phase("measuring"))
    measured = {
        role: figures(outcome.ranker, dataset.role(role), dataset)
        for role in ROLES
        if has(dataset, role)
    }
    return {
        "model": recipe.model,
        "dataset": dataset.name,
        "folder": str(folder),
        "parameters": outcome.ranker.model.trainable_parameters(),
        "epochs": outcome.progress.epoch,
        "best_epoch": outcome.progress.best_epoch,
        "seconds": round(sum(record["seconds"] for record in outcome.progress.history), 1),
        "figures": measured,
    }


def has(dataset: Dataset, role: Role) -> bool:
    """Whether the dataset has a split of this role."""
    return getattr(dataset, role) in dataset.splits


def figures(ranker: Ranker, pools: Split, dataset: Dataset) -> dict[str, dict[str, float]]:
    """Metrics of the ranker and of BM25 on the same pools."""
    qrels = pools_to_qrels(pools)
    index = LexicalIndex(tokeniser=dataset.tokeniser)
    index.add(dataset.posts.values())
    scores = {ranker.name: ranker.score_pools(pools), "bm25": [index.scores(p) for p in pools]}
    return {
        name: evaluate(qrels, pools_to_run(pools, values), dataset.protocol).metrics
        for name, values in scores.items()
    }
