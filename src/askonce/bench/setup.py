"""What all cells of a bench share, and the dataset as they see it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from askonce.data.benchmarks import load_dataset
from askonce.errors import AskonceError
from askonce.evaluation import METRICS
from askonce.types import Dataset, Pool, ProtocolName, Split, candidates

RAW_TOO = {"trecqa": ("test-raw", "test-clean")}  # papers report one or the other
ACCURACY = ("insuranceqa", "insuranceqa-v1", "insuranceqa-package")  # papers report P@1 alone
QUICK_TRAIN, QUICK_SCORED = 4_000, 2_500  # candidates that a quick bench learns from, and ranks
QUICK_QUESTIONS = (100, 500)  # but at least and at most so many questions to learn from
QUICK_CORPUS = 1_000  # posts outside of all pools, which pre-training would else read for long


@dataclass(frozen=True)
class Setup:
    """Where things are, and which splits are ranked under which protocol."""

    data: Path
    store: Path
    recipes: Path = Path("recipes")
    vectors: Path | None = None
    splits: tuple[str, ...] = ()  # to report; none: the dataset's test, on TrecQA raw and clean
    protocol: ProtocolName | None = None  # None: the dataset's own
    quick: bool = False


@dataclass(frozen=True)
class BenchData:
    """A dataset, and the splits that every row ranks: dev first, then those to report."""

    dataset: Dataset
    scored: dict[str, ProtocolName]

    @property
    def dev(self) -> str | None:
        """The split to choose on, where the dataset has one."""
        return self.dataset.dev if self.dataset.dev in self.scored else None

    @property
    def watch(self) -> str:
        """The metric by which rows are chosen and compared."""
        return main_metric(self.dataset.name)

    def shape(self) -> dict[str, list[int]]:
        """Questions and candidates of each split, by which changed data is noticed."""
        return {
            name: [len(pools), sum(len(pool.candidates) for pool in pools)]
            for name, pools in sorted(self.dataset.splits.items())
        }


def main_metric(dataset: str) -> str:
    """P@1, there called accuracy, for InsuranceQA; MAP for all others."""
    return METRICS[2] if dataset in ACCURACY else METRICS[0]


def bench_data(name: str, setup: Setup) -> BenchData:
    """Read a dataset; a quick bench gets few pools of it."""
    dataset = load_dataset(name, setup.data)
    reported = setup.splits or RAW_TOO.get(dataset.name, (dataset.test,))
    names = [_resolved(dataset, split) for split in reported]
    if dataset.dev in dataset.splits:
        names = [dataset.dev, *(name for name in names if name != dataset.dev)]
    scored = {name: setup.protocol or protocol_of(dataset, name) for name in names}
    return BenchData(fewer(dataset, scored) if setup.quick else dataset, scored)


def protocol_of(dataset: Dataset, split: str) -> ProtocolName:
    """The dataset's own; a split without questions of one label only is ``clean`` by nature."""
    return "clean" if split.endswith("-clean") else dataset.protocol


def _resolved(dataset: Dataset, split: str) -> str:
    roles = {"train": dataset.train, "dev": dataset.dev, "test": dataset.test}
    name = split if split in dataset.splits else roles.get(split, split)
    if name not in dataset.splits:
        there = ", ".join(dataset.splits)
        raise AskonceError(f"dataset {dataset.name!r} has no split {split!r}; it has: {there}")
    return name


def fewer(dataset: Dataset, scored: dict[str, ProtocolName]) -> Dataset:
    """The dataset with few pools, and few posts beside them: what a quick bench reads."""
    splits: dict[str, Split] = {}
    for name, pools in dataset.splits.items():
        all_count = scored.get(name) == "trec"  # else a question without a right answer is no work
        useful = [pool for pool in pools if pool.positives or all_count]
        if name in scored:
            splits[name] = _some(useful, QUICK_SCORED, (1, len(useful)))
        else:
            splits[name] = _some(useful, QUICK_TRAIN, QUICK_QUESTIONS)
    pooled = {post.id for pools in splits.values() for post in candidates(pools)}
    beside = [post for post in dataset.corpus if post.id not in pooled]
    kept = [post for post in dataset.corpus if post.id in pooled]
    return replace(dataset, splits=splits, corpus=[*kept, *beside[:QUICK_CORPUS]])


def _some(pools: Sequence[Pool], size: int, questions: tuple[int, int]) -> tuple[Pool, ...]:
    """Pools from everywhere in the list, with so many candidates in all, as far as bounds let."""
    least, most = questions
    total = sum(len(pool.candidates) for pool in pools)
    fitting = len(pools) * size // total if total else 0
    count = min(max(least, fitting), most, len(pools))
    return tuple(pools[place * len(pools) // count] for place in range(count))
