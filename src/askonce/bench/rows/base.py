"""The contract of a row: train on a dataset, score its splits, and report the cost."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from askonce.bench.data import BenchData
from askonce.bench.store import Facts, RowKind, Store
from askonce.errors import AskonceError
from askonce.evaluation import Run, TieRule, pools_to_run
from askonce.training.events import OnEvent, Phase, ignore
from askonce.types import Pool


@dataclass(frozen=True)
class Task:
    """One row on one dataset with one seed."""

    data: BenchData
    seed: int
    folder: Path  # of this cell; holds the files of an interrupted run
    vectors: Path | None
    quick: bool
    store: Store
    on_event: OnEvent = ignore


@dataclass(frozen=True)
class Outcome:
    """The result of a row: a run for each split, and facts about its cost."""

    runs: dict[str, Run]
    facts: Facts = field(default_factory=dict)
    ties: TieRule = "trec"


class Row(ABC):
    kind: ClassVar[RowKind]
    seeded: bool = True  # another seed gives other scores
    label: str  # its name, also in the store and in tables

    @abstractmethod
    def settings(self, vectors: Path | None, quick: bool) -> dict[str, Any]:
        """All that decides the scores besides data and seed, as plain values."""

    @abstractmethod
    def run(self, task: Task) -> Outcome: ...

    def tidy(self, folder: Path) -> None:
        """Remove files from the cell's folder that are only needed to resume."""
        return


def scored(
    task: Task, score: Callable[[Sequence[Pool]], Sequence[np.ndarray]]
) -> tuple[dict[str, Run], Facts]:
    """Score every split and measure the speed, reading of texts included."""
    runs, pairs = {}, 0
    begin = time.perf_counter()
    for split in task.data.scored:
        task.on_event(Phase(f"scoring {split}"))
        pools = task.data.dataset.splits[split]
        runs[split] = pools_to_run(pools, score(pools))
        pairs += sum(len(pool.candidates) for pool in pools)
    seconds = max(time.perf_counter() - begin, 1e-9)
    return runs, {"pairs_per_second": pairs / seconds, "score_seconds": seconds}


def need_texts(row: Row, data: BenchData) -> None:
    for split in data.scored:
        pools = data.dataset.splits[split]
        if pools and not any(post.text for pool in pools[:10] for post in pool.candidates):
            raise AskonceError(
                f"{data.dataset.name} was read without texts, so {row.label} cannot rank it; "
                "use --models given,random or add the text file to its folder"
            )
