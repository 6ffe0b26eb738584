"""Rows that fuse two rankings or more; the kind of fusion and the weight are selected on dev."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from askonce.bench.rows.base import Outcome, Row, Task
from askonce.bench.store import StoredCell
from askonce.errors import AskonceError
from askonce.evaluation import Run, evaluate, pools_to_qrels
from askonce.ranking.fusion import How, fuse

FusionKind = Literal["z-score", "reciprocal-rank"]
KINDS: dict[FusionKind, How] = {"z-score": "zscore", "reciprocal-rank": "reciprocal"}
WEIGHTS = (0.5, 0.3, 0.7, 0.1, 0.9)  # of the later ranking; of equals on dev the first wins
SUMMED = ("train_seconds", "pretrain_seconds", "parameters", "all_parameters")  # of all parts


class FusionRow(Row):
    """``bm25+hyperqa``; of more than two, each is fused with the fusion of those before it."""

    kind = "fusion"

    def __init__(self, parts: Sequence[Row]) -> None:
        self.parts = tuple(parts)
        self.label = "+".join(part.label for part in parts)
        self.seeded = any(part.seeded for part in parts)

    def settings(self, vectors: Path | None, quick: bool) -> dict[str, Any]:
        parts = {part.label: part.settings(vectors, quick) for part in self.parts}
        return {"parts": parts, "kinds": list(KINDS), "weights": list(WEIGHTS)}

    def run(self, task: Task) -> Outcome:
        dev = task.data.dev
        if dev is None:
            raise AskonceError(
                f"{task.data.dataset.name!r} has no dev split to choose the weight of "
                f"{self.label} on; leave fusions out"
            )
        cells = [self._cell(part, task) for part in self.parts]
        first, *others = ({split: cell.run(split) for split in task.data.scored} for cell in cells)
        qrels = pools_to_qrels(task.data.dataset.splits[dev])
        protocol, choices = task.data.scored[dev], []
        for other in others:
            kind, weight = chosen(
                first[dev],
                other[dev],
                lambda run: evaluate(qrels, run, protocol).metrics[task.data.watch],
            )
            first = {split: fused(first[split], other[split], kind, weight) for split in first}
            choices.append({"kind": kind, "weight": weight})
        parts = [cell.facts for cell in cells]  # which score one after another
        rate = 1 / sum(1 / facts["pairs_per_second"] for facts in parts)
        costs = {name: sum(facts.get(name, 0) for facts in parts) for name in SUMMED}
        return Outcome(first, {"fusion": choices, "pairs_per_second": rate, **costs})

    @staticmethod
    def _cell(part: Row, task: Task) -> StoredCell:
        seed = task.seed if part.seeded else 1
        cell = task.store.cell(task.data.dataset.name, part.label, seed)
        if cell is None:
            raise AskonceError(f"the store has no {part.label!r} with seed {seed}; run it first")
        return cell


def chosen(one: Run, other: Run, value: Callable[[Run], float]) -> tuple[FusionKind, float]:
    """The kind and weight with the best value on dev."""
    grid = list(product(KINDS, WEIGHTS))
    return max(grid, key=lambda choice: value(fused(one, other, *choice)))


def fused(one: Run, other: Run, kind: FusionKind, weight: float) -> Run:
    """The weighted sum of two runs over the same candidates, query by query."""
    weights = {"one": 1 - weight, "other": weight}
    run: dict[str, Mapping[str, float]] = {}
    for query, scores in one.items():
        stages = {
            "one": np.array(list(scores.values())),
            "other": np.array([other[query][name] for name in scores]),
        }
        total = fuse(stages, weights, KINDS[kind], ties="mean")  # (C,)
        run[query] = dict(zip(scores, total.tolist(), strict=True))
    return run
