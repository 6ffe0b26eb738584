"""Rows of our own models: pre-trained if the recipe says so, fine-tuned, then measured.

Models and training are imported late, since planning a bench only reads recipes.
"""

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askonce.bench.rows.base import Outcome, Row, Task, need_texts, scored
from askonce.bench.store import Facts
from askonce.config import as_dict, settings
from askonce.errors import ConfigError
from askonce.training.recipe import Before, Recipe, by_pairs, read_before, read_recipe
from askonce.types import candidates

if TYPE_CHECKING:
    from askonce.ranker import Ranker

QUICK_EPOCHS, QUICK_PRETRAINING = 2, 1
QUICK_EXAMPLES = 60  # that a cross-encoder is tuned on
ENCODED = 2_000  # texts on which the speed of encoding is measured
RANKER, PRETRAINED = "ranker", "pretrained"


class TrainedRow(Row):
    """A recipe, with changes such as ``model.dim=100``.

    A recipe with a [pretrain] or a [distil] table is pre-trained or distilled first, unless a
    change says ``pretrain=false``.
    """

    kind = "trained"

    def __init__(self, label: str, path: Path, changes: Sequence[str], dataset: str) -> None:
        self.label = label
        self.recipe = read_recipe(path, changes)
        if self.recipe.dataset not in (None, dataset):
            raise ConfigError(f"{path} is a recipe for {self.recipe.dataset!r}, not {dataset!r}")
        self.before = read_before(path, changes)

    def settings(self, vectors: Path | None, quick: bool) -> dict[str, Any]:
        """The recipe and its other tables, as a quick bench shortens them."""
        recipe, before = self._shortened() if quick else (self.recipe, self.before)
        if before.distil is not None and not by_pairs(before.distil):  # words are the teacher's
            return {"recipe": as_dict(recipe), "distil": before.distil}
        file = vectors.name if vectors and recipe.text.vectors in ("file", "fused") else None
        distil = {"distil": before.distil} if before.distil else {}
        return {"recipe": as_dict(recipe), "pretrain": before.pretrain, "vectors": file, **distil}

    def run(self, task: Task) -> Outcome:
        from askonce.training.run import RecipeTraining

        need_texts(self, task.data)
        recipe, before = self._shortened() if task.quick else (self.recipe, self.before)
        recipe = replace(recipe, train=replace(recipe.train, seed=task.seed))
        if before.pretrain is not None:
            before = before._replace(pretrain={**before.pretrain, "seed": task.seed})
        folders = task.folder / PRETRAINED, task.folder / RANKER
        training = RecipeTraining(recipe, task.data.dataset, task.vectors, task.on_event)
        trained = training.train(before, folders)
        runs, speed = scored(task, trained.ranker.score_pools)
        model = trained.ranker.model
        facts = {
            "train_seconds": trained.progress.seconds,
            "pretrain_seconds": _seconds(task.folder / PRETRAINED),
            "epochs": trained.progress.epoch,
            "best_epoch": trained.progress.best_epoch,
            "parameters": model.trainable_parameters(),
            "all_parameters": sum(weight.numel() for weight in model.parameters()),
            **speed,
            **_encoding(trained.ranker, task),
        }
        return Outcome(runs, facts)

    def tidy(self, folder: Path) -> None:
        """Keep the ranker and all histories; drop checkpoints and the pre-trained ranker."""
        for path in (folder / RANKER / "checkpoint", *(folder / RANKER).glob("training-*")):
            shutil.rmtree(path, ignore_errors=True)
        for path in (folder / PRETRAINED).glob("*"):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.suffix != ".jsonl":
                path.unlink()

    def _shortened(self) -> tuple[Recipe, Before]:
        epochs = min(self.recipe.train.epochs, QUICK_EPOCHS)
        recipe = replace(self.recipe, train=replace(self.recipe.train, epochs=epochs))
        pretrain, distil = (
            table and {**table, "epochs": QUICK_PRETRAINING} for table in self.before
        )
        if distil is not None and by_pairs(distil):
            distil["examples"] = QUICK_EXAMPLES
        return recipe, Before(pretrain, distil)


def up_to_date(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The stored settings of a row as it would give them now: those added since have defaults."""
    now = dict(stored)
    if "recipe" in now:
        now["recipe"] = as_dict(settings(Recipe, now["recipe"]))
    if "parts" in now:
        now["parts"] = {name: up_to_date(part) for name, part in now["parts"].items()}
    return now


def _encoding(ranker: "Ranker", task: Task) -> Facts:
    """Texts per second, for models that encode each text on its own."""
    from askonce.models.base import Encoder

    if not isinstance(ranker.model, Encoder):
        return {}
    pools = task.data.dataset.splits[list(task.data.scored)[-1]]
    posts = list({post.id: post for post in candidates(pools)}.values())[:ENCODED]
    begin = time.perf_counter()
    ranker.encode(posts)
    return {"texts_per_second": len(posts) / max(time.perf_counter() - begin, 1e-9)}


def _seconds(folder: Path) -> float:
    """Seconds of pre-training, from its histories; 0 without any."""
    lines = [line for path in folder.rglob("*.jsonl") for line in path.read_text().splitlines()]
    return float(sum(json.loads(line).get("seconds", 0) for line in lines))
