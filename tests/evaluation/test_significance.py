import warnings
from itertools import product

import numpy as np
import pytest

from askonce.errors import AskonceError
from askonce.evaluation import (
    bootstrap_interval,
    compare,
    estimate,
    order_agreement,
)
from askonce.evaluation.significance import Interval, holm


def by_query(values):
    return {f"q{n}": float(value) for n, value in enumerate(values)}


@pytest.fixture
def random():
    return np.random.default_rng(3)


def test_the_interval_is_near_the_normal_one(random):
    values = random.normal(0.5, 0.1, size=400)
    interval = bootstrap_interval(values)
    error = values.std(ddof=1) / 20
    assert interval.low == pytest.approx(values.mean() - 1.96 * error, abs=0.1 * error)
    assert interval.high == pytest.approx(values.mean() + 1.96 * error, abs=0.1 * error)


def test_the_interval_holds_the_mean_as_often_as_it_says(random):
    draws = random.random((400, 50))
    intervals = [bootstrap_interval(row, level=0.9, samples=500) for row in draws]
    share = np.mean([interval.low <= 0.5 <= interval.high for interval in intervals])
    assert 0.84 < share < 0.94


def test_the_interval_repeats_with_its_seed_and_not_with_another(random):
    values = random.random(50)
    assert bootstrap_interval(values, seed=4) == bootstrap_interval(values, seed=4)
    assert bootstrap_interval(values, seed=4) != bootstrap_interval(values, seed=5)
    assert bootstrap_interval([0.25] * 9) == Interval(0.25, 0.25)


def test_memory_stays_small_with_many_queries(random):
    interval = bootstrap_interval(random.random(5000), samples=2000)
    assert 0 < interval.low < interval.high < 1


def test_impossible_intervals_are_refused():
    with pytest.raises(AskonceError, match="at least 2 queries, found 1"):
        bootstrap_interval([0.5])
    with pytest.raises(AskonceError, match="level = 95"):
        bootstrap_interval([0.5, 0.6], level=95)


def test_randomisation_nears_the_exact_enumeration(random):
    base, other = random.random((2, 10))
    difference = other - base
    sums = [np.dot(signs, difference) for signs in product((1, -1), repeat=10)]
    exact = np.mean(np.abs(sums) >= abs(difference.sum()) - 1e-12)
    (result,) = compare(by_query(base), {"other": by_query(other)})
    assert result.randomisation == pytest.approx(exact, abs=0.01)
    assert result.difference == pytest.approx(difference.mean())


def test_chance_is_called_significant_no_more_often_than_promised(random):
    others = {str(n): by_query(random.normal(size=60)) for n in range(300)}
    base = by_query(np.zeros(60))
    results = compare(base, others, flips=2000)
    assert np.mean([r.randomisation < 0.05 for r in results]) < 0.09
    assert np.mean([r.randomisation_holm < 0.05 for r in results]) < 0.01


def test_identical_systems_get_one_without_a_warning():
    values = by_query([0.1, 0.5, 0.9])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (result,) = compare(values, {"same": values})
    assert result.difference == 0
    assert result.randomisation == result.randomisation_holm == 1


def test_the_p_value_of_a_constant_difference_is_bounded():
    base = by_query([0.25] * 20)
    (result,) = compare(base, {"better": by_query([0.75] * 20)}, flips=999)
    assert result.randomisation == pytest.approx(1 / 1000)  # never below 1 / (flips + 1)
    assert result.difference == 0.5


def test_order_of_queries_does_not_matter_and_results_repeat(random):
    base, other = (by_query(row) for row in random.random((2, 30)))
    shuffled = dict(reversed(other.items()))
    assert compare(base, {"x": other}) == compare(base, {"x": shuffled})


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]).tolist() == pytest.approx([1.0, 1.0])
    assert holm([0.2]).tolist() == pytest.approx([0.2])


def test_holm_covers_all_systems_in_their_order(random):
    base = random.random(50)
    others = {str(n): by_query(base + random.normal(n * 0.05, 0.2, 50)) for n in range(4)}
    results = compare(by_query(base), others, flips=2000)
    assert [r.name for r in results] == list(others)
    corrected = holm([r.randomisation for r in results])
    assert [r.randomisation_holm for r in results] == pytest.approx(corrected)


def test_what_cannot_be_compared_is_refused():
    base = by_query([0.1, 0.2])
    with pytest.raises(AskonceError, match="short and the base differ in 1 queries, 'q1'"):
        compare(base, {"short": {"q0": 0.1}})
    with pytest.raises(AskonceError, match="at least 2 queries, found 1"):
        compare({"q": 0.1}, {"other": {"q": 0.2}})
    with pytest.raises(AskonceError, match="no queries"):
        compare({}, {"other": {}})
    with pytest.raises(AskonceError, match="NaN"):
        compare(base, {"broken": by_query([0.1, float("nan")])})
    assert compare(base, {}) == []


def test_seeds_are_averaged_before_queries_are_drawn(random):
    runs = random.random((3, 80))
    summary = estimate([by_query(row) for row in runs])
    assert summary.mean == pytest.approx(runs.mean())
    assert summary.interval == bootstrap_interval(runs.mean(axis=0))
    assert summary.deviation == pytest.approx(runs.mean(axis=1).std(ddof=1))


def test_a_single_seed_has_no_spread_and_a_single_query_no_interval():
    summary = estimate([{"q": 0.5}])
    assert (summary.mean, summary.interval, summary.deviation) == (0.5, None, None)
    with pytest.raises(AskonceError, match="at least one seed"):
        estimate([])
    with pytest.raises(AskonceError, match="seed 2 and seed 1 differ"):
        estimate([{"q": 0.5}, {"r": 0.5}])


def test_agreement_of_two_orders_by_counting_pairs():
    values = {"a": [0.1, 0.3], "b": [0.4, 0.4], "c": [0.9, 0.3], "d": [0.5, 0.6]}
    table = {name: dict(zip("xy", row, strict=True)) for name, row in values.items()}
    published = {"a": 0.2, "b": 0.5, "c": 0.4, "d": 0.9}
    # means .2, .4, .6, .55: of six pairs b-c and c-d are ordered otherwise
    agreement = order_agreement(published, table)
    assert agreement.tau == pytest.approx((4 - 2) / 6)
    # samples have x alone, which has the same order; y alone, where a and c tie; or both
    assert agreement.interval.low == pytest.approx(2 / 6)
    assert agreement.interval.high == pytest.approx(5 / np.sqrt(6 * 5))
    reverse = {name: -value for name, value in published.items()}
    assert order_agreement(reverse, table).tau == pytest.approx(-agreement.tau)
    with pytest.raises(AskonceError, match="at least 2 systems"):
        order_agreement({"a": 1.0}, table)
