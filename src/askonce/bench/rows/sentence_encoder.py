"""Rows of sentence encoders without any training: transformers, and the starter."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from askonce.bench.rows.base import Outcome, Row, Task, need_texts, scored
from askonce.bench.store import RowKind
from askonce.teachers import STARTER, load_teacher
from askonce.teachers.starter import load_starter
from askonce.teachers.teacher import OnProgress
from askonce.training.events import Reading
from askonce.types import Pool

TIMED_TEXTS = 256  # read without the cache, to measure the speed


class SentenceRow(Row):
    """Cosine between the vectors of a sentence encoder."""

    kind: ClassVar[RowKind] = "transformer"
    seeded = False

    def __init__(self, label: str, name: str) -> None:
        self.label, self._name = label, name

    def settings(self, vectors: Path | None, quick: bool) -> dict[str, Any]:
        return {"sentence_encoder": self._name}

    def run(self, task: Task) -> Outcome:
        need_texts(self, task.data)
        teacher = load_teacher(self._name)
        texts: set[str] = set()
        on_progress: OnProgress = lambda done, total: task.on_event(Reading(done, total))  # noqa: E731

        def score(pools: Sequence[Pool]) -> list[np.ndarray]:
            texts.update(post.text for pool in pools for post in (pool.query, *pool.candidates))
            ordered = sorted(texts)
            row = {text: i for i, text in enumerate(ordered)}
            vectors = teacher.encode(ordered, on_progress)  # (n, D)
            return [
                vectors[[row[post.text] for post in pool.candidates]]
                @ vectors[row[pool.query.text]]
                for pool in pools
            ]

        runs, facts = scored(task, score)
        sample = sorted(texts)[:: max(1, len(texts) // TIMED_TEXTS)]
        begin = time.perf_counter()
        teacher.read(sample)
        facts["texts_per_second"] = len(sample) / max(time.perf_counter() - begin, 1e-9)
        size = teacher.parameters
        facts |= {"parameters": size, "all_parameters": size, "train_seconds": 0.0}
        return Outcome(runs, facts)


class StarterRow(SentenceRow):
    kind = "baseline"

    def __init__(self) -> None:
        super().__init__(STARTER, STARTER)

    def settings(self, vectors: Path | None, quick: bool) -> dict[str, Any]:
        return {"sentence_encoder": load_starter().name}
