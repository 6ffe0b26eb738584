"""Is the difference more than luck: intervals over queries, paired tests, spread over seeds.

All work on one metric's values by query, as ``Report.values`` gives them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from askonce.errors import AskonceError

Floats = NDArray[np.float64]

_CELLS = 4_000_000  # random numbers held at once: 32 MB


@dataclass(frozen=True)
class Interval:
    """Where the mean over all queries like these is thought to lie."""

    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """One system against the base: mean difference, and two-sided p-values plain and after Holm."""

    name: str
    difference: float  # above 0 where the system is better than the base
    t_test: float
    randomisation: float
    t_test_holm: float
    randomisation_holm: float


@dataclass(frozen=True)
class Summary:
    """One system over several seeds."""

    mean: float
    interval: Interval | None  # over queries; none with a single query
    seeds: int
    spread: float | None  # standard deviation of the mean over seeds; none with a single seed


def bootstrap_interval(
    values: ArrayLike, level: float = 0.95, samples: int = 10_000, seed: int = 0
) -> Interval:
    """The percentile interval of the mean, from drawing queries with replacement."""
    array = np.asarray(values, dtype=np.float64)
    if array.size < 2:
        raise AskonceError(f"an interval needs at least 2 queries, found {array.size}")
    if not 0 < level < 1:
        raise AskonceError(f"level = {level}; expected a number between 0 and 1")
    random = np.random.default_rng(seed)
    means = np.concatenate(
        [
            array[random.integers(array.size, size=(rows, array.size))].mean(axis=1)
            for rows in _portions(samples, array.size)
        ]
    )  # (S,)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def compare(
    base: Mapping[str, float],
    others: Mapping[str, Mapping[str, float]],
    flips: int = 100_000,
    seed: int = 0,
) -> list[Comparison]:
    """Test each system against the base on the same queries; Holm corrects for their number."""
    if not others:
        return []
    table = _aligned([("the base", base), *others.items()])  # (1 + S, Q)
    if table.shape[1] < 2:
        raise AskonceError(f"a paired test needs at least 2 queries, found {table.shape[1]}")
    differences = table[1:] - table[0]
    t_test = _paired_t(differences)
    randomisation = _sign_flips(differences, flips, seed)
    columns = (differences.mean(axis=1), t_test, randomisation, holm(t_test), holm(randomisation))
    rows = np.stack(columns, axis=1).tolist()
    return [Comparison(name, *row) for name, row in zip(others, rows, strict=True)]


def summarise(
    seeds: Sequence[Mapping[str, float]],
    level: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
) -> Summary:
    """Mean over seeds and queries: values are averaged over seeds first, then queries are drawn."""
    if not seeds:
        raise AskonceError("a summary needs the values of at least one seed")
    table = _aligned([(f"seed {n}", values) for n, values in enumerate(seeds, start=1)])  # (S, Q)
    by_query = table.mean(axis=0)
    one_query, one_seed = table.shape[1] == 1, table.shape[0] == 1
    return Summary(
        mean=float(by_query.mean()),
        interval=None if one_query else bootstrap_interval(by_query, level, samples, seed),
        seeds=table.shape[0],
        spread=None if one_seed else float(table.mean(axis=1).std(ddof=1)),
    )


def holm(p_values: ArrayLike) -> Floats:
    """Holm's step-down correction: the least of m times m, the next times m - 1, never falling."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def _aligned(systems: Sequence[tuple[str, Mapping[str, float]]]) -> Floats:
    """The values as rows over the queries of the first system, which all others must share."""
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


def _paired_t(differences: Floats) -> Floats:  # (S, Q) -> (S,)
    """Student's paired test, with 1 for equal systems and 0 for a difference that never varies."""
    from scipy.special import stdtr

    queries = differences.shape[1]
    mean = np.abs(differences.mean(axis=1))
    error = differences.std(axis=1, ddof=1) / np.sqrt(queries)
    t = np.divide(mean, error, out=np.where(mean > 0, np.inf, 0.0), where=error > 0)
    return np.asarray(2 * stdtr(queries - 1, -t), dtype=np.float64)


def _sign_flips(differences: Floats, flips: int, seed: int) -> Floats:  # (S, Q) -> (S,)
    """Fisher's paired randomisation: how often random signs give so large a mean difference."""
    random = np.random.default_rng(seed)
    total = differences.sum(axis=1)  # (S,)
    # Sums of the same numbers in another order may differ in the last bits: they count as equal.
    bar = np.abs(total) - 1e-12 * np.abs(differences).sum(axis=1)
    queries, count = differences.shape[1], np.zeros(len(total))
    for rows in _portions(flips, queries):
        kept = _coins(random, rows, queries)  # (F, Q)
        # Signs are 2·kept - 1.
        count += (np.abs(2 * kept @ differences.T - total) >= bar).sum(axis=0)
    return (count + 1) / (flips + 1)


def _coins(random: np.random.Generator, rows: int, columns: int) -> Floats:
    """Zeros and ones, eight from each random byte."""
    drawn = np.frombuffer(random.bytes(rows * columns // 8 + 1), dtype=np.uint8)
    return np.unpackbits(drawn)[: rows * columns].reshape(rows, columns).astype(np.float64)


def _portions(rows: int, columns: int) -> Iterator[int]:
    """Split many random rows so that memory stays small."""
    step = max(1, _CELLS // columns)
    yield from (min(step, rows - done) for done in range(0, rows, step))
