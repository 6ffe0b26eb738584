"""Rows of the classical baselines."""

import time
from pathlib import Path
from typing import Any

from askonce.baselines import BASELINES
from askonce.baselines.base import Baseline, Material
from askonce.bench.rows.base import Outcome, Row, Task, need_texts, scored

READ_NO_TEXT = ("random", "given")


class BaselineRow(Row):
    kind = "baseline"

    def __init__(self, name: str) -> None:
        self.label = BASELINES.resolve(name)
        self._kind: type[Baseline] = BASELINES[name]
        self.seeded = self._kind.seeded

    def settings(self, vectors: Path | None, quick: bool) -> dict[str, Any]:
        return {"baseline": self.label, "vectors": vectors.name if vectors else None}

    def run(self, task: Task) -> Outcome:
        if self.label not in READ_NO_TEXT:
            need_texts(self, task.data)
        ranker = self._kind()
        begin = time.perf_counter()
        ranker.fit(Material(task.data.dataset, task.vectors, task.seed))
        seconds = time.perf_counter() - begin
        runs, facts = scored(task, lambda pools: [ranker.score(pool) for pool in pools])
        ties = "expected" if ranker.constant else "trec"
        return Outcome(runs, facts | {"train_seconds": seconds}, ties)  # type: ignore[arg-type]
