import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.index.stems import Stems
from askonce.ranking.calibration import Calibration, QueryWords, jaccard
from askonce.ranking.votes import VoteWeights, doublings
from askonce.types import Post


def test_votes_count_by_doublings_and_against():
    assert [doublings(votes) for votes in (None, 0, 1, 3, 7, -3)] == [0, 0, 1, 2, 3, -2]
    blend = VoteWeights(votes=0.5, accepted=2.0)
    assert blend.bonus(3, accepted=True) == 3.0
    assert blend.bonus(-1, accepted=False) == -0.5
    assert blend.bonus(None, accepted=False) == 0.0


def test_probability_by_hand():
    calibration = Calibration(-2.0, {"bm25": 0.5, "shared": 4.0})
    reported = calibration.probability({"bm25": 2.0, "shared": 0.5, "other": 9.0})
    assert reported == pytest.approx(1 / (1 + math.exp(-1.0)))
    assert calibration.probability({}) == pytest.approx(1 / (1 + math.exp(2.0)))


def test_a_probability_is_given_only_for_the_stages_it_was_fitted_on():
    post = Post("p", "Why do my brakes squeal?")
    query = QueryWords.of(post.title, Stems())
    fitted = Calibration(-2.0, {"bm25": 0.0, "vectors": 3.0, "shared": 1.0})
    assert fitted.applies_to(["vectors"]) and fitted.applies_to(["bm25", "vectors", "pair"])
    assert not fitted.applies_to(["bm25"])
    assert query.probability(fitted, post, {"bm25": 30.0}) is None  # not even for the same title
    assert query.probability(fitted, post, {"vectors": 1.0}) > 0.8
    by_words = Calibration(-2.0, {"shared": 1.0})
    assert query.probability(by_words, post, {"bm25": 30.0}) is not None


@given(st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_a_higher_score_is_never_less_probable(one, other):
    calibration = Calibration(-1.0, {"bm25": 0.3})
    low, high = (calibration.probability({"bm25": x}) for x in sorted((one, other)))
    assert 0 < low <= high < 1


def test_shared_words():
    assert jaccard({"a", "b"}, {"b", "c"}) == pytest.approx(1 / 3)
    assert jaccard(set(), set()) == 0.0
