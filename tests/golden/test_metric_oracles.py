"""Figures worked out apart from the code: by hand, by closed form, and over whole benchmarks."""

from math import comb

import numpy as np
import pytest

from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.evaluation.ties import TIE_RULES

BY_HAND = [
    # labels from the top, AP, RR, P@1, P@5
    ([1, 0, 0, 0, 0], 1.0, 1.0, 1.0, 0.2),
    ([0, 1, 0, 1, 0], 0.5, 0.5, 0.0, 0.4),
    ([0, 0, 1, 0, 0], 1 / 3, 1 / 3, 0.0, 0.2),
    ([1, 1, 0, 0, 1], 0.866667, 1.0, 1.0, 0.6),
    ([0, 0, 0, 0, 0], 0.0, 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize("ties", TIE_RULES)
@pytest.mark.parametrize(("labels", "ap", "rr", "p1", "p5"), BY_HAND)
def test_rankings_by_hand(labels, ap, rr, p1, p5, ties):
    qrels = {"q": {str(n): label for n, label in enumerate(labels)}}
    run = {"q": {str(n): -float(n) for n in range(len(labels))}}
    metrics = evaluate(qrels, run, ties=ties).metrics
    actual = [metrics[name] for name in ("MAP", "MRR", "P@1", "P@5")]
    assert actual == pytest.approx([ap, rr, p1, p5], abs=1e-6)


def random_row(size, relevant):
    qrels = {"q": {str(n): int(n < relevant) for n in range(size)}}
    constant = {"q": dict.fromkeys(qrels["q"], 0.0)}
    return evaluate(qrels, constant, ties="expected").metrics


def test_random_expectations_printed_in_papers():
    five = random_row(5, 1)
    assert (five["P@1"], five["P@5"]) == pytest.approx((0.2, 0.2))
    assert (five["MRR"], five["MAP"]) == pytest.approx((0.456667, 0.456667), abs=1e-6)
    twenty = random_row(20, 6)
    assert (twenty["MRR"], twenty["MAP"]) == pytest.approx((0.525763, 0.395706), abs=1e-6)


@pytest.mark.parametrize(("n", "r"), [(1, 1), (2, 1), (7, 3), (20, 20), (500, 1), (500, 7)])
def test_random_expectations_by_closed_form(n, r):
    harmonic = sum(1 / k for k in range(1, n + 1))
    ap = (harmonic + (r - 1) / max(n - 1, 1) * (n - harmonic)) / n
    rr = sum(comb(n - k, r - 1) / comb(n, r) / k for k in range(1, n - r + 2))
    actual = random_row(n, r)
    assert (actual["MAP"], actual["MRR"]) == pytest.approx((ap, rr), abs=1e-12)


WHOLE_SETS = [
    # dataset, split, protocol, queries, MAP, MRR, P@1
    ("trecqa", "dev-raw", "trec", 81, 0.5221, 0.5651, 0.4009),
    ("trecqa", "test-raw", "trec", 95, 0.5066, 0.5547, 0.4132),
    ("trecqa", "dev-clean", "trec", 65, 0.4507, 0.5042, 0.2996),
    ("trecqa", "test-clean", "trec", 68, 0.3990, 0.4661, 0.2685),
    ("trecqa", "dev-raw", "clean", 65, 0.4507, 0.5042, 0.2996),
    ("trecqa", "test-raw", "clean", 68, 0.3990, 0.4661, 0.2685),
    ("wikiqa", "dev", "drop_no_pos", 126, 0.4112, 0.4163, 0.2103),
    ("wikiqa", "test", "drop_no_pos", 243, 0.3992, 0.4071, 0.2036),
    ("askubuntu", "dev", "drop_no_pos", 189, 0.4055, 0.4920, 0.3114),
    ("askubuntu", "test", "drop_no_pos", 186, 0.3869, 0.4705, 0.2898),
]


@pytest.mark.data
@pytest.mark.parametrize(("name", "split", "protocol", "queries", "ap", "rr", "p1"), WHOLE_SETS)
def test_random_rows_of_whole_sets(published, name, split, protocol, queries, ap, rr, p1):
    pools = published(name).split(split)
    qrels, constant = pools_to_qrels(pools), [np.zeros(len(pool.candidates)) for pool in pools]
    report = evaluate(qrels, pools_to_run(pools, constant), protocol, ties="expected")
    assert report.queries == queries
    actual = [report.metrics[name] for name in ("MAP", "MRR", "P@1")]
    assert actual == pytest.approx([ap, rr, p1], abs=6e-5)


@pytest.mark.data
@pytest.mark.parametrize(
    ("split", "figures"),
    [("dev", (52.03, 65.99, 51.85, 42.12)), ("test", (55.99, 68.03, 53.76, 42.47))],
)
def test_the_scores_that_came_with_askubuntu(published, split, figures):
    """Candidates are listed by that score, and the figures are those of the listed order.

    Some scores tie, which moves MAP by up to 0.1: every rule stays that close.
    """
    pools = published("askubuntu").split(split)
    qrels, names = pools_to_qrels(pools), ("MAP", "MRR", "P@1", "P@5")

    def figure(scores, ties="trec"):
        metrics = evaluate(qrels, pools_to_run(pools, scores), "drop_no_pos", ties).metrics
        return np.array([100 * metrics[name] for name in names])

    listed = figure([-np.arange(len(pool.candidates)) for pool in pools])
    assert listed == pytest.approx(figures, abs=0.006)
    given = [pool.given for pool in pools]
    assert all(list(scores) == sorted(scores, reverse=True) for scores in given)
    worst, best = figure(given, "pessimistic"), figure(given, "optimistic")
    for value in (listed, figure(given), figure(given, "expected")):
        assert np.all(worst - 1e-9 <= value)
        assert np.all(value <= best + 1e-9)
    assert np.all(best - worst < 0.2)


@pytest.mark.data
@pytest.mark.parametrize("seed", range(5))
def test_raw_and_clean_trecqa_differ_by_what_no_ranking_can_change(published, seed):
    """21 queries have only right candidates and get 1, 6 have only wrong ones and get 0."""
    pools = published("trecqa").split("test-raw")
    random = np.random.default_rng(seed)
    run = pools_to_run(pools, [random.normal(size=len(pool.candidates)) for pool in pools])
    raw, clean = (evaluate(pools_to_qrels(pools), run, name) for name in ("trec", "clean"))
    for metric in ("MAP", "MRR"):
        whole = (21 + 68 * clean.metrics[metric]) / 95
        assert raw.metrics[metric] == pytest.approx(whole, abs=1e-12)
