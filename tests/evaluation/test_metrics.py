import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, nDCG

from askonce.errors import AskonceError, UnknownName
from askonce.evaluation import (
    METRICS,
    evaluate,
    pools_to_qrels,
    pools_to_run,
)
from askonce.evaluation.metrics import counted_queries
from askonce.evaluation.ties import TIE_RULES
from askonce.types import Pool, Post

QRELS = {
    "both": {"a": 0, "b": 1, "c": 0},
    "wrong": {"a": 0, "b": 0},
    "right": {"a": 1, "b": 1},
}
RUN = {
    "both": {"a": 3.0, "b": 2.0, "c": 1.0},
    "wrong": {"a": 1.0, "b": 0.5},
    "right": {"a": 0.1, "b": 0.2},
}


def pool(query: str, labels: list[int], missed: int = 0) -> Pool:
    candidates = tuple(Post(f"{query}-{n}") for n in range(len(labels)))
    lost = tuple(Post(f"{query}-missed-{n}") for n in range(missed))
    return Pool(Post(query), candidates, tuple(labels), lost)


@pytest.mark.parametrize(
    ("protocol", "queries", "mean"),
    [
        ("trec", ["both", "wrong", "right"], 1.5 / 3),
        ("clean", ["both"], 0.5),
        ("drop_no_pos", ["both", "right"], 1.5 / 2),
    ],
)
def test_each_protocol_counts_its_queries(protocol, queries, mean):
    report = evaluate(QRELS, RUN, protocol)
    assert list(report.per_query) == counted_queries(QRELS, protocol) == queries
    assert report.queries == len(queries)
    assert report.metrics["MAP"] == report.metrics["MRR"] == pytest.approx(mean)


@pytest.mark.parametrize("ties", TIE_RULES)
def test_every_rule_fills_the_same_table(ties):
    report = evaluate(QRELS, RUN, ties=ties)
    assert tuple(report.metrics) == METRICS
    assert all(set(values) == set(METRICS) for values in report.per_query.values())
    assert report.metrics["P@1"] == pytest.approx(1 / 3)
    by_query = {query: values["MRR"] for query, values in report.per_query.items()}
    assert by_query == {"both": 0.5, "wrong": 0.0, "right": 1.0}


@pytest.mark.parametrize("ties", TIE_RULES)
def test_a_query_that_the_run_lacks_counts_as_zero(ties):
    report = evaluate(QRELS, {"right": RUN["right"], "both": {}, "strange": {"a": 1.0}}, ties=ties)
    assert (report.queries, report.unanswered, report.ignored) == (3, 2, 1)
    assert report.metrics["MAP"] == pytest.approx(1 / 3)
    assert set(report.per_query["both"].values()) == {0.0}


@pytest.mark.parametrize("ties", TIE_RULES)
def test_a_missed_positive_lowers_map_and_ndcg(ties):
    pools = [pool("q", [1, 0], missed=1)]
    report = evaluate(pools_to_qrels(pools), pools_to_run(pools, [[2.0, 1.0]]), ties=ties)
    assert report.metrics["MAP"] == pytest.approx(0.5)
    assert report.metrics["MRR"] == 1.0
    assert report.metrics["nDCG@10"] == pytest.approx(1 / (1 + 1 / np.log2(3)))


def test_precision_divides_by_k_even_where_candidates_are_fewer():
    assert evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}).metrics["P@5"] == pytest.approx(0.2)


def test_trec_breaks_ties_by_document_id_descending():
    assert evaluate({"q": {"b": 1}}, {"q": {"a": 1, "b": 1, "c": 0.5}}).metrics["MRR"] == 1.0
    assert evaluate({"q": {"b": 1}}, {"q": {"a": 1, "b": 1, "c": 1}}).metrics["MRR"] == 0.5
    assert evaluate({"q": {"9": 1}}, {"q": {"10": 1, "9": 1}}).metrics["MRR"] == 1.0


def test_tied_positives_are_those_level_with_a_wrong_candidate():
    qrels = {"q": {"a": 1, "b": 0, "c": 1, "d": 1, "e": 1}, "r": {"a": 1, "b": 0}}
    run = {"q": {"a": 1, "b": 1, "c": 1, "d": 5, "e": 5}, "r": {"a": 1, "b": 2}}
    assert evaluate(qrels, run).tied_positives == 2
    assert evaluate(qrels, run, "clean", "expected").tied_positives == 2


@pytest.mark.parametrize("ties", TIE_RULES)
def test_scores_tie_in_single_precision(ties):
    report = evaluate({"q": {"a": 1, "b": 0}}, {"q": {"a": 1 + 1e-9, "b": 1.0}}, ties=ties)
    assert report.tied_positives == 1
    wanted = {"trec": 0.5, "pessimistic": 0.5, "optimistic": 1.0, "expected": 0.75}
    assert report.metrics["MRR"] == wanted[ties]


def test_the_expectation_of_a_constant_scorer_is_that_of_random_orders():
    pools = [pool("q", [1, 0, 0, 0, 0]), pool("r", [0, 1, 1], missed=1)]
    qrels, run = pools_to_qrels(pools), pools_to_run(pools, [[7.0] * 5, [7.0] * 3])
    report = evaluate(qrels, run, ties="expected")
    assert report.metrics["P@1"] == pytest.approx((1 / 5 + 2 / 3) / 2)


def test_scores_may_be_arrays_of_any_precision():
    rows = [np.array([1.5, 0.5], dtype=np.float32)]
    run = pools_to_run([pool("q", [0, 1])], rows)
    assert run == {"q": {"q-0": 1.5, "q-1": 0.5}}
    assert evaluate({"q": {"q-1": 1}}, {"q": {"q-1": rows[0][0]}}).metrics["MAP"] == 1.0


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf"), 1e39])
def test_a_score_without_an_order_names_query_and_candidate(score):
    with pytest.raises(AskonceError, match=r"'q'.*'q-1'.*score"):
        pools_to_run([pool("q", [1, 0])], [[1.0, score]])
    with pytest.raises(AskonceError, match=r"'q'.*'d'.*score"):
        evaluate({"q": {"d": 1}}, {"q": {"d": score}})


@pytest.mark.parametrize(
    ("pools", "scores", "message"),
    [
        ([pool("q", [1, 0])], [[1.0]], "'q' has 2 candidates but scores of shape"),
        ([pool("q", [1, 0])], [], "1 pools but scores for 0"),
        ([pool("q", [1])] * 2, [[1.0]] * 2, "two pools have the query id 'q'"),
        ([Pool(Post("q"), (Post("a"), Post("a")), (1, 0))], [[1.0, 2.0]], "'a' twice"),
        ([Pool(Post("q"), (Post("a"),), (0,), (Post("a"),))], [[1.0]], "'a' twice"),
    ],
)
def test_pools_that_make_no_table_are_refused(pools, scores, message):
    with pytest.raises(AskonceError, match=message):
        pools_to_run(pools, scores)
    if "twice" in message or "two pools" in message:
        with pytest.raises(AskonceError, match=message):
            pools_to_qrels(pools)


def test_nothing_to_measure_is_an_error():
    with pytest.raises(AskonceError, match="none of 1 queries counts under protocol 'clean'"):
        evaluate({"wrong": {"a": 0}}, RUN, "clean")
    with pytest.raises(AskonceError, match=r"answers none of the 1 queries.*'both'.*'q'"):
        evaluate({"q": {"a": 1}}, RUN)
    with pytest.raises(AskonceError, match="none"):
        evaluate(QRELS, {})
    with pytest.raises(AskonceError, match="none of 1 queries counts"):
        evaluate({"q": {}}, {"q": {"a": 1.0}})


def test_unknown_names_get_a_hint():
    with pytest.raises(UnknownName, match="did you mean 'clean'"):
        evaluate(QRELS, RUN, "cleen")
    with pytest.raises(UnknownName, match="did you mean 'expected'"):
        evaluate(QRELS, RUN, ties="expect")


documents = st.sampled_from("abcdefgh")
tables = st.dictionaries(
    st.sampled_from(["q", "r", "s"]),
    st.tuples(
        st.dictionaries(documents, st.integers(-1, 3), min_size=1),
        st.dictionaries(documents, st.sampled_from([0.0, -1.5, 2.5, 1e-3]), min_size=1),
    ),
    min_size=1,
)


@given(tables)
def test_figures_are_those_of_trec_eval(table):
    qrels = {query: judged for query, (judged, _) in table.items()}
    run = {query: scores for query, (_, scores) in table.items()}
    measures = [AP, RR, P @ 1, P @ 5, nDCG @ 10]
    official = ir_measures.pytrec_eval.calc_aggregate(measures, qrels, run)
    ours = evaluate(qrels, run).metrics
    for name, measure in zip(METRICS, measures, strict=True):
        assert ours[name] == pytest.approx(official[measure], abs=1e-12)
