"""Train on a person's own archive: pools from its marks, words from its text, the best on dev."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from askonce.archive import Archive
from askonce.errors import AskonceError
from askonce.training.archive_pools import answer_dataset, question_dataset
from askonce.training.loop import Tell, train
from askonce.training.prepare import start_from, untrained
from askonce.training.pretraining import PretrainSettings, pretrain
from askonce.training.recipe import Recipe, recipe_of
from askonce.training.run import figures
from askonce.types import Dataset

Task = Literal["questions", "answers"]


@dataclass(frozen=True)
class Default:
    """What is trained when only an archive is given."""

    tables: Mapping[str, Any]
    pretrain: bool


# Similar questions: RCNN as in paper 002, pre-trained on all posts, then tuned on the marked ones.
# Answers: HyperQA, which learns in seconds and encodes fastest.
DEFAULTS: dict[Task, Default] = {
    "questions": Default(
        {
            "model": {"name": "rcnn", "dim": 200},
            "text": {"min_count": 2},
            "train": {
                "loss": "max_margin",
                "margin": 0.5,
                "negatives": {"source": "pool", "count": 20},
                "batch_size": 20,
                "epochs": 15,
                "l2": 1e-5,
                "l2_form": "norm",
            },
        },
        pretrain=True,
    ),
    "answers": Default(
        {
            "model": {"name": "hyperqa", "dim": 300},
            "train": {
                "negatives": {"source": "mix", "count": 6},
                "optimiser": "adagrad",
                "rate": 0.02,
                "batch_size": 50,
                "epochs": 25,
            },
        },
        pretrain=False,
    ),
}


def train_on_archive(
    archive: Archive, folder: Path, vectors: Path | None, seed: int, tell: Tell
) -> dict[str, Any]:
    """A ranker for similar questions and one for answers, where the archive has what each needs.

    Word vectors are skip-gram trained on the archive, fused with those of a file if one is named.
    """
    datasets: dict[Task, Dataset] = {}
    missing: dict[Task, str] = {}
    for task in DEFAULTS:
        try:
            make = question_dataset if task == "questions" else answer_dataset
            datasets[task] = make(archive, seed)
        except AskonceError as error:
            missing[task] = str(error)
    if not datasets:
        raise AskonceError("; ".join(missing.values()))
    return {
        "archive": archive.name,
        "rankers": {
            task: _train(task, dataset, folder / task, vectors, seed, tell)
            for task, dataset in datasets.items()
        },
        "missing": missing,
    }


def default_recipe(task: Task, dataset: Dataset, vectors: Path | None, seed: int) -> Recipe:
    """The recipe of a task, with word vectors of the archive's own text."""
    tables = dict(DEFAULTS[task].tables)
    source = "skipgram" if vectors is None else "fused"
    tables["text"] = {**tables.get("text", {}), "vectors": source}
    tables["train"] = {**tables["train"], "seed": seed}
    return recipe_of({**tables, "dataset": dataset.name})


def _train(
    task: Task, dataset: Dataset, folder: Path, vectors: Path | None, seed: int, tell: Tell
) -> dict[str, Any]:
    recipe = default_recipe(task, dataset, vectors, seed)
    tell("text", {"text": f"{task}: learning words"})
    ranker = untrained(recipe, dataset, vectors)
    if DEFAULTS[task].pretrain:
        before = folder / "pretrained"
        pretrain(
            ranker, dataset, PretrainSettings(epochs=8, patience=3, batch_size=64), before, tell
        )
        ranker = start_from(recipe, before)
    outcome = train(ranker, dataset, recipe, folder, tell)
    return {
        "model": recipe.model,
        "folder": str(folder),
        "best_epoch": outcome.progress.best_epoch,
        "pools": {name: len(pools) for name, pools in dataset.splits.items()},
        "figures": {
            name: figures(outcome.ranker, dataset.split(name), dataset) for name in ("dev", "test")
        },
    }
