import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.errors import ConfigError
from askonce.index.base import Hit
from askonce.index.lexical import LexicalIndex
from askonce.ranking.fusion import FusedHit, FusedIndex, fuse, zscores
from askonce.types import Post


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


def test_every_candidate_gets_every_score():
    parts = {
        "one": Fixed({"a": 3.0, "b": 1.0, "c": 0.0}),
        "two": Fixed({"c": 9.0, "b": 8.0, "a": 1.0}),
    }
    index = FusedIndex(parts, {"one": 1.0, "two": 1.0}, depth=1)
    found = index.candidates("?")
    assert {hit.id: hit.parts for hit in found} == {
        "a": {"one": 3.0, "two": 1.0},
        "c": {"one": 0.0, "two": 9.0},
    }
    assert [hit.id for hit in found] == ["a", "c"]  # one each: the tie goes by id
    deeper = index.candidates("?", depth=2)
    assert isinstance(deeper[0], FusedHit)
    assert {hit.id for hit in deeper} == {"a", "b", "c"}


def test_position_is_that_of_the_part_farthest_behind():
    first, second = LexicalIndex(), LexicalIndex()
    index = FusedIndex({"one": first, "two": second}, {"one": 1.0, "two": 2.0})
    index.position = 5
    second.position = 2
    assert index.position == 2
    index.add(Post(str(n), title="brake") for n in range(3))
    assert (len(first), len(second), len(index)) == (3, 3, 3)


@pytest.mark.parametrize("weights", [{}, {"one": 1.0}, {"one": 1.0, "two": 1.0, "three": 1.0}])
def test_weights_are_for_the_parts(weights):
    with pytest.raises(ConfigError, match="name the same"):
        FusedIndex({"one": LexicalIndex(), "two": LexicalIndex()}, weights)
