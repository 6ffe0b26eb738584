"""Rows of our own models: pre-trained where the recipe says so, trained, then measured.

The loop is imported where it is needed: planning a bench reads recipes only.
"""

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from askonce.bench.rows.base import Outcome, Row, Task, need_texts, scored
from askonce.bench.store import Facts
from askonce.config import as_dict, read_toml
from askonce.errors import ConfigError
from askonce.models.base import Encoder
from askonce.ranker import Ranker
from askonce.training.recipe import Recipe, read_recipe, read_table
from askonce.types import Dataset, candidates

NO_PRETRAINING = "pretrain=false"
QUICK_EPOCHS, QUICK_PRETRAINING = 2, 1
ENCODED = 2_000  # texts by which the speed of encoding is measured
RANKER, BEFORE = "ranker", "pretrained"


class TrainedRow(Row):
    """A recipe, with changes such as ``model.dim=100``.

    A recipe with a [pretrain] table is pre-trained first, unless a change says ``pretrain=false``.
    """

    kind = "trained"

    def __init__(self, label: str, path: Path, changes: Sequence[str], dataset: str) -> None:
        self.label = label
        told = [change for change in changes if change != NO_PRETRAINING]
        self.recipe = read_recipe(path, told)
        if self.recipe.dataset not in (None, dataset):
            raise ConfigError(f"{path} is a recipe for {self.recipe.dataset!r}, not {dataset!r}")
        named = "pretrain" in read_toml(path) or any(c.startswith("pretrain.") for c in told)
        wanted = named and NO_PRETRAINING not in changes
        self.pretraining = read_table(path, "pretrain", told) if wanted else None

    def settings(self, vectors: Path | None, quick: bool) -> dict[str, Any]:
        """The recipe and its [pretrain] table, as a quick bench shortens them."""
        recipe, pretraining = self._shortened() if quick else (self.recipe, self.pretraining)
        file = vectors.name if vectors and recipe.text.vectors in ("file", "fused") else None
        return {"recipe": as_dict(recipe), "pretrain": pretraining, "vectors": file}

    def run(self, task: Task) -> Outcome:
        """Train in the cell's folder, going on where a stopped run ended; then score."""
        from askonce.training.epochs import train
        from askonce.training.processes import launched

        need_texts(self, task.data)
        recipe, pretraining = self._shortened() if task.quick else (self.recipe, self.pretraining)
        recipe = replace(recipe, train=replace(recipe.train, seed=task.seed))
        dataset, folder = task.data.dataset, task.folder / RANKER
        ranker = _start(recipe, pretraining, dataset, task)
        outcome = train(ranker, dataset, recipe, folder, task.on_event, launched())
        runs, speed = scored(task, outcome.ranker.score_pools)
        facts = {
            "train_seconds": sum(record["seconds"] for record in outcome.progress.history),
            "pretrain_seconds": _seconds(task.folder / BEFORE),
            "epochs": outcome.progress.epoch,
            "best_epoch": outcome.progress.best_epoch,
            **_sizes(outcome.ranker),
            **speed,
            **_encoding(outcome.ranker, task),
        }
        return Outcome(runs, facts)

    def tidy(self, folder: Path) -> None:
        """Keep the ranker and all curves; drop checkpoints and what training started from."""
        shutil.rmtree(folder / RANKER / "checkpoint", ignore_errors=True)
        for path in (folder / BEFORE).glob("*"):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.suffix != ".jsonl":
                path.unlink()

    def _shortened(self) -> tuple[Recipe, dict[str, Any] | None]:
        most = min(self.recipe.train.epochs, QUICK_EPOCHS)
        recipe = replace(self.recipe, train=replace(self.recipe.train, epochs=most))
        table = self.pretraining
        return recipe, None if table is None else {**table, "epochs": QUICK_PRETRAINING}


def _start(
    recipe: Recipe, pretraining: dict[str, Any] | None, dataset: Dataset, task: Task
) -> Ranker:
    """The ranker that training begins with."""
    from askonce.training.prepare import start_from, untrained
    from askonce.training.pretraining.run import pretrain_recipe

    if pretraining is None:
        return untrained(recipe, dataset, task.vectors)
    before = task.folder / BEFORE
    before.mkdir(parents=True, exist_ok=True)
    table = {**pretraining, "seed": task.seed}
    pretrain_recipe(recipe, table, dataset, before, task.vectors, task.on_event)
    return start_from(recipe, before)


def _sizes(ranker: Ranker) -> Facts:
    return {
        "parameters": ranker.model.trainable_parameters(),
        "all_parameters": sum(weight.numel() for weight in ranker.model.parameters()),
    }


def _encoding(ranker: Ranker, task: Task) -> Facts:
    """Texts a second, for models that read each text alone."""
    if not isinstance(ranker.model, Encoder):
        return {}
    pools = task.data.dataset.splits[list(task.data.scored)[-1]]
    posts = list({post.id: post for post in candidates(pools)}.values())[:ENCODED]
    begin = time.perf_counter()
    ranker.encode(posts)
    return {"texts_per_second": len(posts) / max(time.perf_counter() - begin, 1e-9)}


def _seconds(folder: Path) -> float:
    """What pre-training took, from its own records; 0 without any."""
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    return float(sum(json.loads(line).get("seconds", 0) for line in lines))
