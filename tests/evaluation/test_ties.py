from itertools import permutations
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.evaluation import METRICS, evaluate

documents = st.sampled_from("abcdef")
judgements = st.dictionaries(documents, st.integers(-1, 3), min_size=1)
tied = st.dictionaries(documents, st.sampled_from([0.0, 1.0]), min_size=1)


def values(judged, scores, ties):
    return evaluate({"q": judged}, {"q": scores}, ties=ties).metrics


def orders(scores):
    """Every order that agrees with the scores, as scores without ties."""
    for order in permutations(scores):
        ranked = [scores[document] for document in order]
        if ranked == sorted(ranked, reverse=True):
            yield {document: -float(rank) for rank, document in enumerate(order)}


def values_of_orders(judged, scores):
    """The values of every such order, measured in one run."""
    run = {str(n): order for n, order in enumerate(orders(scores))}
    return list(evaluate(dict.fromkeys(run, judged), run).per_query.values())


@given(judgements, tied)
def test_expected_is_the_mean_over_all_orders(judged, scores):
    expected = values(judged, scores, "expected")
    every = values_of_orders(judged, scores)
    for metric in METRICS:
        assert expected[metric] == pytest.approx(fmean(v[metric] for v in every), abs=1e-12)


@given(judgements, tied)
def test_worst_and_best_are_the_extremes_over_all_orders(judged, scores):
    every = values_of_orders(judged, scores)
    worst, best = (values(judged, scores, rule) for rule in ("pessimistic", "optimistic"))
    for metric in METRICS:
        assert worst[metric] == pytest.approx(min(v[metric] for v in every), abs=1e-12)
        assert best[metric] == pytest.approx(max(v[metric] for v in every), abs=1e-12)


large = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0])),
    min_size=1,
    max_size=60,
)


@given(large)
def test_expected_lies_between_worst_and_best(rows):
    judged = {str(n): label for n, (label, _) in enumerate(rows)}
    scores = {str(n): score for n, (_, score) in enumerate(rows)}
    worst, mean, trec, best = (
        values(judged, scores, rule) for rule in ("pessimistic", "expected", "trec", "optimistic")
    )
    for metric in METRICS:
        assert worst[metric] - 1e-12 <= mean[metric] <= best[metric] + 1e-12
        assert worst[metric] - 1e-12 <= trec[metric] <= best[metric] + 1e-12


@given(
    st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=60, unique=True),
    st.randoms(use_true_random=False),
)
def test_without_ties_all_rules_agree(scores, random):
    run = {str(n): score for n, score in enumerate(scores)}
    judged = {str(n): random.choice([0, 0, 1, 2]) for n in range(len(scores) + 3)}
    trec = values(judged, run, "trec")
    for rule in ("pessimistic", "optimistic", "expected"):
        assert values(judged, run, rule) == pytest.approx(trec, abs=1e-12)


def test_large_groups_stay_exact():
    """C(2000, 1000) overflows a float; the running product of the expectation does not."""
    judged = {str(n): n % 2 for n in range(2000)}
    report = values(judged, dict.fromkeys(judged, 0.0), "expected")
    assert report["P@1"] == pytest.approx(0.5, abs=1e-12)
    assert report["MRR"] == pytest.approx(0.6931, abs=1e-3)  # ln 2, the limit for half relevant
    assert report["MAP"] == pytest.approx(0.5, abs=3e-3)
