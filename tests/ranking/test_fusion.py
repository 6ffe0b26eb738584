from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.index.base import Hit
from askonce.ranking.fusion import Fusion, fuse, reciprocal_ranks, zscores
from askonce.ranking.stages import Candidates, IndexQuery, Query, gather


def test_zscores_by_hand():
    assert zscores(np.array([1.0, 2.0, 3.0])) == pytest.approx([-1.224745, 0, 1.224745], abs=1e-6)
    assert zscores(np.array([5.0, np.nan, 3.0])).tolist() == [1.0, -1.0, -1.0]
    assert zscores(np.array([-np.inf, 1.0, 3.0])).tolist() == [-1.0, -1.0, 1.0]


@pytest.mark.parametrize("values", [[], [7.0], [0.1] * 30, [np.nan, np.nan], [2.0, np.nan]])
def test_nothing_to_tell_apart_is_zero(values):
    assert zscores(np.array(values)).tolist() == [0.0] * len(values)


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=20),
    st.integers(1, 10**4),
    st.integers(-(10**3), 10**3),
)
def test_zscores_know_no_scale(values, factor, shift):
    moved = zscores(np.array(values) * factor / 100 + shift)
    assert moved == pytest.approx(zscores(np.array(values)), abs=1e-4)


def test_fusion_by_hand():
    scores = {"bm25": np.array([4.0, 2.0]), "vectors": np.array([0.1, 0.3])}
    weights = {"bm25": 1.0, "vectors": 0.5}
    assert fuse(scores, weights).tolist() == pytest.approx([0.5, -0.5])
    by_rank = fuse(scores, weights, "reciprocal")
    assert by_rank.tolist() == pytest.approx([1 / 61 + 0.5 / 62, 1 / 62 + 0.5 / 61])


def test_equal_scores_share_a_rank_and_missing_ones_have_none():
    ranks = fuse({"a": np.array([3.0, 9.0, 3.0, np.nan, 1.0])}, {"a": 1.0}, "reciprocal")
    assert ranks.tolist() == pytest.approx([1 / 62, 1 / 61, 1 / 62, 0, 1 / 64])


class Fixed:
    """An index that gives each post the same score whatever is asked."""

    position = 3

    def __init__(self, scores):
        self.scores = scores

    def __len__(self):
        return len(self.scores)

    def search(self, text, k=10):
        best = sorted(self.scores, key=lambda name: (-self.scores[name], name))[: max(k, 0)]
        return [Hit(name, self.scores[name]) for name in best]

    def score(self, text, ids):
        return np.array([self.scores.get(name, 0.0) for name in ids])


def asked(**indexes):
    return {
        name: IndexQuery(partial(index.search, "?"), partial(index.score, "?"))
        for name, index in indexes.items()
    }


ONE = Fixed({"a": 3.0, "b": 1.0, "c": 0.0})
TWO = Fixed({"c": 9.0, "b": 8.0, "a": 1.0})


def test_every_candidate_gets_every_score():
    actual = gather(Query("?"), asked(one=ONE, two=TWO), depth=1)
    assert actual.ids == ["a", "c"]
    assert {name: values.tolist() for name, values in actual.stages.items()} == {
        "one": [3.0, 0.0],
        "two": [1.0, 9.0],
    }
    ranked = Fusion(weights={"one": 1.0, "two": 1.0}).join(actual)
    assert ranked.ids == ["a", "c"]  # one each: the tie goes by id
    assert ranked.parts(1) == {"one": 0.0, "two": 9.0}
    assert gather(Query("?"), asked(one=ONE, two=TWO), depth=2).ids == ["a", "b", "c"]


def test_lent_posts_are_candidates_and_barred_ones_are_not():
    actual = gather(Query("?", {"c": 2.0}), asked(one=ONE), 1)
    assert actual.ids == ["a", "c"]
    assert actual.stages["asked"].tolist() == [0.0, 2.0]
    assert gather(Query("?", {"c": 0.0}), asked(one=ONE), 1).stages.keys() == {"one"}
    assert gather(Query("?", barred={"a"}), asked(one=ONE), 1).ids == ["b"]
    assert gather(Query("?", barred={"a", "c"}), asked(one=ONE, two=TWO), 2).ids == ["b"]
    assert gather(Query("?"), asked(one=Fixed({})), 5).ids == []


def test_a_stage_alone_keeps_its_scale():
    bm25, vectors = np.array([2.0, 5.0, 1.0]), np.array([0.1, 0.2, 0.3])
    both = Candidates(["x", "y", "z"], {"bm25": bm25, "vectors": vectors})
    assert Fusion().join(both).scores.tolist() == [5.0, 2.0, 1.0]
    assert Fusion(weights={"vectors": 2.0}).join(both).ids == ["z", "y", "x"]
    assert Fusion(weights={"vectors": 2.0}).join(both).scores.tolist() == [0.3, 0.2, 0.1]
    lent = Candidates(["x", "y"], {"bm25": np.array([2.0, 0.0]), "asked": np.array([0.0, 3.0])})
    assert Fusion().join(lent).scores.tolist() == [3.0, 2.0]
    assert Fusion(weights={"vectors": 1.0}).join(lent).ids == ["y", "x"]


def test_mean_ranks_of_ties():
    ranks = reciprocal_ranks(np.array([3.0, 9.0, 3.0, np.nan, 1.0]), ties="mean")
    assert ranks.tolist() == pytest.approx([1 / 62.5, 1 / 61, 1 / 62.5, 0, 1 / 64])
