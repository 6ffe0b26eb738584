"""A ranker in PyTerrier pipelines and experiments."""

import numpy as np
import pytest

pytest.importorskip("pyterrier", reason="`make test-integrations` installs it")

import pandas as pd
import pyterrier as pt

from askonce.adapters.pyterrier import AskonceReranker

# PyTerrier's own code changes frames in place, which pandas 3.1 warns of
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


@pytest.fixture
def results(queries, texts):
    """What a first stage found: everything, in the order of ids."""
    rows = [
        {"qid": qid, "query": query, "docno": docno, "text": text, "score": -target, "rank": target}
        for qid, query in queries.items()
        for target, (docno, text) in enumerate(texts.items())
    ]
    return pd.DataFrame(rows)


def test_scores_order_and_ranks_are_those_of_the_ranker(ranker, results, ranking):
    mixed = results.sample(frac=1, random_state=1)
    ranked = AskonceReranker(ranker).transform(mixed)
    assert set(ranked.columns) == set(results.columns)
    for _, rows in ranked.groupby("qid"):
        expected = ranking(rows["query"].iloc[0])
        assert rows["docno"].tolist() == [name for name, _ in expected]
        assert rows["rank"].tolist() == list(range(5))
        np.testing.assert_allclose(rows["score"], [score for _, score in expected], rtol=1e-4)
    assert mixed["score"].tolist() == [
        -target for target in mixed["rank"]
    ]  # the input is untouched


def test_it_takes_no_results_and_missing_texts(ranker, results):
    reranker = AskonceReranker(ranker)
    assert reranker(results.head(0)).columns.tolist()[-2:] == ["score", "rank"]
    results.loc[0, "text"] = None
    assert np.isfinite(reranker(results)["score"]).all()
    with pytest.raises(pt.validate.InputValidationError):
        reranker(results.drop(columns="text"))


def test_a_pipeline_in_an_experiment(folder, ranker, results, queries, right, ranking):
    first = pt.Transformer.from_df(results)
    pipeline = first % 3 >> AskonceReranker(folder)
    topics = pd.DataFrame({"qid": list(queries), "query": list(queries.values())})
    qrels = pd.DataFrame(
        [(qid, name, label) for qid, names in right.items() for name, label in names.items()],
        columns=["qid", "docno", "label"],
    )
    table = pt.Experiment(
        [first, pipeline], topics, qrels, ["recip_rank"], names=["first", "askonce"], plan="tree"
    )
    reciprocal = []
    for qid, query in queries.items():
        order = [name for name, _ in ranking(query) if name in ("d1", "d2", "d3")]
        reciprocal.append(max(1 / (order.index(n) + 1) for n in right[qid] if n in order))
    assert table.set_index("name")["recip_rank"]["askonce"] == pytest.approx(np.mean(reciprocal))
    assert not pt.java.started()
