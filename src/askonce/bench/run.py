"""One cell of the table: a ranker, a dataset, a split, several seeds."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from askonce.baselines import BASELINES
from askonce.baselines.base import Baseline, Material
from askonce.errors import AskonceError
from askonce.evaluation import Report, Run, TieRule, evaluate, pools_to_qrels, pools_to_run
from askonce.types import Dataset, Pool, ProtocolName

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Cell:
    """What one ranker reached on one split: a report for each seed, and what it cost."""

    dataset: str
    split: str
    protocol: ProtocolName
    model: str
    seeds: tuple[int, ...]
    reports: tuple[Report, ...]
    runs: tuple[Run, ...]
    fit_seconds: float  # mean over seeds
    pairs_per_second: float


@dataclass(frozen=True)
class Plan:
    """What to run: which rankers on which split, with which seeds and word vectors."""

    models: Sequence[str]
    split: str = "test"
    seeds: int = 1
    protocol: ProtocolName | None = None  # None: the dataset's own
    vectors: Path | None = None


def run_dataset(dataset: Dataset, plan: Plan, progress: Progress) -> Iterator[Cell]:
    """Run every ranker of the plan; ``progress`` is told what is being done."""
    pools = dataset.split(plan.split)
    _check_text(dataset, pools, plan)
    split = plan.split if plan.split in dataset.splits else getattr(dataset, plan.split)
    material = Material(dataset, plan.vectors)
    for name in plan.models:
        kind: type[Baseline] = BASELINES[name]
        seeds = tuple(range(1, plan.seeds + 1)) if kind.seeded else (1,)
        progress(f"{dataset.name}: {name}")
        outcomes = [_fit_and_score(kind(), material, seed, pools) for seed in seeds]
        qrels, protocol = pools_to_qrels(pools), plan.protocol or dataset.protocol
        ties: TieRule = "expected" if kind.constant else "trec"
        seconds = max(sum(o.score_seconds for o in outcomes), 1e-9)
        yield Cell(
            dataset=dataset.name,
            split=split,
            protocol=protocol,
            model=BASELINES.resolve(name),
            seeds=seeds,
            reports=tuple(evaluate(qrels, o.run, protocol, ties) for o in outcomes),
            runs=tuple(o.run for o in outcomes),
            fit_seconds=sum(o.fit_seconds for o in outcomes) / len(outcomes),
            pairs_per_second=len(outcomes) * sum(len(p.candidates) for p in pools) / seconds,
        )


@dataclass(frozen=True)
class _Outcome:
    run: Run
    fit_seconds: float
    score_seconds: float


def _fit_and_score(
    ranker: Baseline, material: Material, seed: int, pools: Sequence[Pool]
) -> _Outcome:
    material.seed = seed
    begin = time.perf_counter()
    ranker.fit(material)
    fitted = time.perf_counter()
    scores = [ranker.score(pool) for pool in pools]
    scored = time.perf_counter()
    return _Outcome(pools_to_run(pools, scores), fitted - begin, scored - fitted)


def _check_text(dataset: Dataset, pools: Sequence[Pool], plan: Plan) -> None:
    reads_text = [
        name for name in plan.models if BASELINES.resolve(name) not in ("random", "given")
    ]
    if reads_text and not any(post.text for pool in pools[:10] for post in pool.candidates):
        raise AskonceError(
            f"{dataset.name} was read without texts, so {', '.join(reads_text)} cannot rank it; "
            f"use --models given,random or add the text file to its folder"
        )
