"""Significance: intervals over queries, paired tests, deviation over seeds.

All functions take one metric's values by query.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askonce.errors import AskonceError

Floats = NDArray[np.float64]

_CELLS = 4_000_000  # random numbers held at once: 32 MB


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """A system against the base: mean difference, two-sided p-values before and after Holm."""

    name: str
    difference: float  # above 0 if the system is better than the base
    randomisation: float
    randomisation_holm: float


@dataclass(frozen=True)
class Estimate:
    """One metric of a system over several seeds."""

    mean: float
    interval: Interval | None  # over queries; none with a single query
    deviation: float | None  # standard deviation of the mean over seeds; none with a single seed

    def __str__(self) -> str:
        low, high = self.bounds
        return f"{self.mean:.3f}" + ("" if low is None else f" [{low:.3f}–{high:.3f}]")

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        return (None, None) if self.interval is None else (self.interval.low, self.interval.high)


@dataclass(frozen=True)
class Agreement:
    """How far two orders of the same systems agree: 1 fully, 0 not at all, -1 reversed."""

    tau: float
    interval: Interval
    p: float  # of so large a τ in random order


def bootstrap_interval(
    values: ArrayLike, level: float = 0.95, samples: int = 10_000, seed: int = 0
) -> Interval:
    """The percentile bootstrap interval of the mean over queries."""
    from scipy import stats

    array = np.asarray(values, dtype=np.float64)
    if array.size < 2:
        raise AskonceError(f"an interval needs at least 2 queries, found {array.size}")
    if not 0 < level < 1:
        raise AskonceError(f"level = {level}; expected a number between 0 and 1")
    result = stats.bootstrap(
        (array,),
        np.mean,
        n_resamples=samples,
        batch=max(1, _CELLS // array.size),
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    low, high = result.confidence_interval
    return Interval(float(low), float(high))


def compare(
    base: Mapping[str, float],
    others: Mapping[str, Mapping[str, float]],
    flips: int = 100_000,
    seed: int = 0,
) -> list[Comparison]:
    """Test each system against the base on the same queries, with Holm's correction."""
    if not others:
        return []
    table = _aligned([("the base", base), *others.items()])  # (1 + S, Q)
    if table.shape[1] < 2:
        raise AskonceError(f"a paired test needs at least 2 queries, found {table.shape[1]}")
    differences = table[1:] - table[0]  # (S, Q)
    randomisation = _sign_flips(differences, flips, seed)
    columns = (differences.mean(axis=1), randomisation, holm(randomisation))
    rows = np.stack(columns, axis=1).tolist()
    return [Comparison(name, *row) for name, row in zip(others, rows, strict=True)]


def estimate(seeds: Sequence[Mapping[str, float]]) -> Estimate:
    """Mean over seeds and queries; the interval is over queries, of values averaged over seeds."""
    if not seeds:
        raise AskonceError("an estimate needs the values of at least one seed")
    table = _aligned([(f"seed {n}", values) for n, values in enumerate(seeds, start=1)])  # (S, Q)
    by_query = table.mean(axis=0)
    one_query, one_seed = table.shape[1] == 1, table.shape[0] == 1
    return Estimate(
        mean=float(by_query.mean()),
        interval=None if one_query else bootstrap_interval(by_query),
        deviation=None if one_seed else float(table.mean(axis=1).std(ddof=1)),
    )


def order_agreement(
    published: Mapping[str, float], values: Mapping[str, Mapping[str, float]]
) -> Agreement:
    """Kendall's τ-b between systems ordered by a published number and by their own mean.

    The interval resamples the queries of our values; the published numbers are fixed.
    """
    from scipy import stats

    if len(published) < 2:
        raise AskonceError(f"an order needs at least 2 systems, found {len(published)}")
    names = list(published)
    numbers = np.array([published[name] for name in names])  # (S,)
    table = _aligned([(name, values[name]) for name in names])  # (S, Q)

    def tau(queries: NDArray[np.int64]) -> float:
        return float(stats.kendalltau(numbers, table[:, queries].mean(axis=1)).statistic)

    every = np.arange(table.shape[1])
    resampled = stats.bootstrap(
        (every,),
        tau,
        vectorized=False,
        n_resamples=1000,
        confidence_level=0.95,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    low, high = resampled.confidence_interval
    p = float(stats.kendalltau(numbers, table.mean(axis=1)).pvalue)
    return Agreement(tau(every), Interval(float(low), float(high)), p)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's step-down correction: smallest p-value times m, next times m - 1, and so on."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def _aligned(systems: Sequence[tuple[str, Mapping[str, float]]]) -> Floats:
    """The values as a table (systems, queries); all systems must have the same queries."""
    first, queries = systems[0]
    if not queries:
        raise AskonceError(f"{first} has no queries")
    for name, values in systems:
        differing = values.keys() ^ queries.keys()
        if differing:
            raise AskonceError(
                f"{name} and {first} differ in {len(differing)} queries, "
                f"{min(differing)!r} for one; compare runs over the same queries"
            )
    table = np.array([[values[q] for q in queries] for _, values in systems], dtype=np.float64)
    if not np.isfinite(table).all():
        raise AskonceError("values by query hold NaN or infinity")
    return table


def _sign_flips(differences: Floats, flips: int, seed: int) -> Floats:  # (S, Q) -> (S,)
    """Fisher's paired randomisation: how often random signs give as large a mean difference.

    By hand, since all systems share one matrix product: scipy's permutation_test takes 40 times
    as long for four systems.
    """
    random = np.random.default_rng(seed)
    total = differences.sum(axis=1)  # (S,)
    # Sums of the same numbers in another order may differ in the last bits: they count as equal.
    bar = np.abs(total) - 1e-12 * np.abs(differences).sum(axis=1)
    queries, count = differences.shape[1], np.zeros(len(total))
    step = max(1, _CELLS // queries)
    for start in range(0, flips, step):
        size = (min(step, flips - start), queries)
        # eight bits from each random byte
        bits = np.unpackbits(np.frombuffer(random.bytes(size[0] * queries // 8 + 1), np.uint8))
        positive = bits[: size[0] * queries].reshape(size).astype(np.float64)  # (F, Q)
        # Signs are 2·positive - 1.
        count += (np.abs(2 * positive @ differences.T - total) >= bar).sum(axis=0)
    return (count + 1) / (flips + 1)
