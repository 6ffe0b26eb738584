"""What all cells of a bench share, and the dataset as they see it."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from askonce.data.benchmarks import load_dataset
from askonce.errors import AskonceError, DataError
from askonce.evaluation import METRICS
from askonce.files import skipping_damaged
from askonce.types import Dataset, Pool, ProtocolName, Split, candidates, evenly_spaced

BOTH_TESTS = {"trecqa": ("test-raw", "test-clean")}  # papers report one or the other
ACCURACY = ("insuranceqa", "insuranceqa-v1", "insuranceqa-package")  # papers report only P@1
# limits of a quick bench
QUICK_TRAIN, QUICK_SCORED = 4_000, 2_500  # candidates to train on, and to rank
QUICK_QUESTIONS = (100, 500)  # fewest and most questions to train on
QUICK_CORPUS = 1_000  # posts outside all pools, which pre-training reads


@dataclass(frozen=True)
class Setup:
    """Folders, and which splits are ranked under which protocol."""

    data: Path
    store: Path
    recipes: Path = Path("recipes")
    vectors: Path | None = None
    splits: tuple[str, ...] = ()  # to report; default: test, on TrecQA raw and clean
    protocol: ProtocolName | None = None  # None: the dataset's own
    quick: bool = False
    skip_damaged: bool = False  # damaged lines of own data, instead of an error


@dataclass(frozen=True)
class BenchData:
    """A dataset, and the splits that every row ranks: dev first, then those to report."""

    dataset: Dataset
    scored: dict[str, ProtocolName]
    damaged: Sequence[DataError] = ()  # lines that were skipped

    @property
    def dev(self) -> str | None:
        return self.dataset.dev if self.dataset.dev in self.scored else None

    @property
    def watch(self) -> str:
        return main_metric(self.dataset.name)

    def shape(self) -> dict[str, list[int]]:
        """Questions and candidates of each split; a cell with other counts is stale."""
        return {
            name: [len(pools), sum(len(pool.candidates) for pool in pools)]
            for name, pools in sorted(self.dataset.splits.items())
        }

    def largest_pool(self) -> int:
        pools = [pool for split in self.scored for pool in self.dataset.splits[split]]
        return max((len(pool.candidates) for pool in pools), default=0)


def main_metric(dataset: str) -> str:
    """P@1, which its papers call accuracy, for InsuranceQA; MAP for all others."""
    return METRICS[2] if dataset in ACCURACY else METRICS[0]


def bench_data(name: str, setup: Setup) -> BenchData:
    """Read a dataset; a quick bench gets a sample of it."""
    with skipping_damaged() if setup.skip_damaged else nullcontext(()) as damaged:
        dataset = load_dataset(name, setup.data)
    reported = setup.splits or BOTH_TESTS.get(dataset.name, (dataset.test,))
    names = [_resolve_split(dataset, split) for split in reported]
    if dataset.dev in dataset.splits:
        names = [dataset.dev, *(name for name in names if name != dataset.dev)]
    # splits without questions of a single label have a protocol of their own
    scored = {
        name: setup.protocol or ("clean" if name.endswith("-clean") else dataset.protocol)
        for name in names
    }
    sample = quick_sample(dataset, scored) if setup.quick else dataset
    return BenchData(sample, scored, tuple(damaged))


def _resolve_split(dataset: Dataset, split: str) -> str:
    roles = {"train": dataset.train, "dev": dataset.dev, "test": dataset.test}
    name = split if split in dataset.splits else roles.get(split, split)
    if name not in dataset.splits:
        splits = ", ".join(dataset.splits)
        raise AskonceError(f"dataset {dataset.name!r} has no split {split!r}; it has: {splits}")
    return name


def quick_sample(dataset: Dataset, scored: dict[str, ProtocolName]) -> Dataset:
    splits: dict[str, Split] = {}
    for name, pools in dataset.splits.items():
        count_all = scored.get(name) == "trec"  # else questions without a right answer don't count
        useful = [pool for pool in pools if pool.positives or count_all]
        if name in scored:
            splits[name] = _sample(useful, QUICK_SCORED, (1, len(useful)))
        else:
            splits[name] = _sample(useful, QUICK_TRAIN, QUICK_QUESTIONS)
    pooled = {post.id for pools in splits.values() for post in candidates(pools)}
    inside = [post for post in dataset.corpus if post.id in pooled]
    outside = [post for post in dataset.corpus if post.id not in pooled]
    return replace(dataset, splits=splits, corpus=[*inside, *outside[:QUICK_CORPUS]])


def _sample(pools: Sequence[Pool], size: int, questions: tuple[int, int]) -> tuple[Pool, ...]:
    """Evenly spaced pools with about ``size`` candidates in all, within bounds of questions."""
    least, most = questions
    total = sum(len(pool.candidates) for pool in pools)
    fitting = len(pools) * size // total if total else 0
    count = min(max(least, fitting), most, len(pools))
    return tuple(evenly_spaced(pools, count))
