"""The BERT row: a transformer that reads both texts at once, fine-tuned on the training pools."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from askonce.bench.rows.base import Outcome, Row, Task, need_texts, scored
from askonce.config import as_dict
from askonce.errors import AskonceError
from askonce.teachers.checkpoints import MINILM
from askonce.training.cross_encoder import (
    BEST,
    CrossEncoder,
    CrossSettings,
    PoolScorer,
    tune_cross_encoder,
)

WORK = "tuning"  # folder of the history and, while it runs, of checkpoints
QUICK = CrossSettings(epochs=1, examples=60, dev_pools=30)


class CrossEncoderRow(Row):
    """A fine-tuned cross-encoder from any transformer checkpoint."""

    kind = "transformer"

    def __init__(self, label: str, name: str | None = None) -> None:
        self.label, self._name = label, name

    def settings(self, vectors: Path | None, quick: bool) -> dict[str, Any]:
        tuning = as_dict(QUICK if quick else CrossSettings())
        return {"checkpoint": self._name or MINILM, "tuning": tuning}

    def run(self, task: Task) -> Outcome:
        need_texts(self, task.data)
        if task.data.dev is None:
            raise AskonceError(
                f"{task.data.dataset.name!r} has no dev split to choose the epoch on"
            )
        config = replace(QUICK if task.quick else CrossSettings(), seed=task.seed)
        encoder = CrossEncoder.load(self._name, config, f"the row {self.label!r}")
        dataset = task.data.dataset
        folder = task.folder / WORK
        progress = tune_cross_encoder(
            encoder, dataset, config, task.data.watch, folder, task.on_event
        )
        runs, speed = scored(task, PoolScorer(encoder, dataset, config).score)
        size = sum(weight.numel() for weight in encoder.model.parameters())
        facts = {
            "epochs": progress.epoch,
            "best_epoch": progress.best_epoch,
            "train_seconds": progress.seconds,
            "parameters": size,
            "all_parameters": size,
        }
        return Outcome(runs, facts | speed)

    def tidy(self, folder: Path) -> None:
        shutil.rmtree(folder / WORK / "checkpoint", ignore_errors=True)
        (folder / WORK / BEST).unlink(missing_ok=True)
