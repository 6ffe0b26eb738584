"""Probabilities and blends fitted on data whose truth is known."""

import numpy as np
import pytest
from scipy.special import expit

from askonce.index.lexical import LexicalIndex
from askonce.ranking.calibration import (
    Calibration,
    Evidence,
    QueryWords,
    ShownList,
    fit_calibration,
    fit_floors,
    gather_evidence,
    judge_calibration,
    same_title,
)
from askonce.ranking.fusion import Fusion
from askonce.ranking.stages import Candidates
from askonce.ranking.votes import VotedList, conditional_slopes, doublings, fit_votes
from askonce.training.archive.selection.calibrate import prior
from askonce.types import Post


def evidence(count=20_000, seed=1):
    """Scores of which the first tells the truth by a known logistic law and the second nothing."""
    rng = np.random.default_rng(seed)
    scores = np.stack([rng.normal(10, 4, count), rng.normal(size=count)], axis=1)
    true = 1 / (1 + np.exp(-(0.5 * scores[:, 0] - 8)))
    same = (rng.random(count) < true).astype(float)
    return Evidence(("bm25", "vectors"), scores, same, np.ones(count))


def test_the_law_is_found():
    calibration = fit_calibration(evidence())
    assert calibration.intercept == pytest.approx(-8, abs=0.4)
    assert calibration.slopes["bm25"] == pytest.approx(0.5, abs=0.03)
    assert calibration.slopes["vectors"] == pytest.approx(0, abs=0.06)
    judged = judge_calibration(calibration, evidence(seed=2))
    assert judged["ECE"] < 0.01
    assert judged["Brier"] < judged["Brier of the prior"]
    for tenth in (0.1, 0.5, 0.8):
        assert judged[f"true at {tenth}"] == pytest.approx(tenth + 0.05, abs=0.06)


def test_the_mean_probability_is_the_prior():
    known = evidence(2000)
    known = Evidence(known.names, known.scores, known.same, 1 + 9 * (1 - known.same))
    calibration = fit_calibration(known)
    reported = [
        calibration.probability(dict(zip(known.names, row, strict=True))) for row in known.scores
    ]
    assert np.average(reported, weights=known.weight) == pytest.approx(known.prior, rel=1e-3)


def test_no_score_speaks_against_a_candidate():
    known = evidence(2000)
    turned = Evidence(known.names, -known.scores, known.same, known.weight)
    slopes = fit_calibration(turned).slopes
    assert all(slope >= 0 for slope in slopes.values())
    assert slopes["bm25"] == 0


def shown(query, texts, right, bm25):
    posts = {f"p{n}": Post(f"p{n}", text) for n, text in enumerate(texts)}
    candidates = Candidates(list(posts), {"bm25": np.array(bm25, float)})
    return ShownList(query, Fusion().join(candidates), right, 2.0), posts


def test_evidence_is_what_is_shown_and_no_unmarked_copy():
    texts = ["the flat tyres", "a flat tyre repaired", "tyres"]
    one, posts = shown("flat tyre", texts, {"p1"}, [3, 2, 1])
    known = gather_evidence([one], posts, LexicalIndex().terms)
    assert known.names == ("bm25", "shared")
    assert known.scores[:, 0].tolist() == [2, 1]  # the first has the same words: no evidence
    assert known.scores[:, 1].tolist() == [2 / 3, 0.5]  # of words that carry meaning
    assert known.same.tolist() == [1, 0]
    assert known.weight.tolist() == [2, 2]
    assert known.prior == 0.5


def floor_of(*lists, which=0, known_from=0.0):
    """The floor where bm25 / 10 is the logit of the probability."""
    calibration = Calibration(0.0, {"bm25": 0.1})
    posts = {f"p{n}": Post(f"p{n}", f"word{n}") for n in range(3)}
    made = []
    for marked, weight, *bm25 in lists:  # the first candidate of a marked question is right
        candidates = Candidates(list(posts)[: len(bm25)], {"bm25": np.array(bm25, float)})
        right = {"p0"} if marked else set()
        made.append(ShownList("a query", Fusion().join(candidates), right, weight))
    return fit_floors(calibration, made, posts, LexicalIndex().terms, known_from)[which]


def at(probability):
    return 10 * np.log(probability / (1 - probability))


def test_the_floor_is_the_least_at_which_claims_are_surely_right_as_often_as_wrong():
    marked = [(True, 1.0, at(p), at(0.1)) for p in np.linspace(0.455, 0.85, 12)]
    wrong = [(True, 1.0, at(0.05), at(0.605)), *[(True, 1.0, at(0.05), at(0.355))] * 12]
    unmarked = [(False, 1.0, at(0.205), at(0.1))] * 100
    assert floor_of(*marked, *unmarked) == pytest.approx(0.21)
    assert floor_of(*marked, *wrong, *unmarked) == pytest.approx(0.36)
    # as often right as wrong on dev from 0.21 on: not sure enough
    assert floor_of(*marked, *wrong[1:], *unmarked) == pytest.approx(0.36)
    heavier = [(True, 12.0, at(0.05), at(0.605))]
    assert floor_of(*marked, *heavier, *wrong[1:], *unmarked) == pytest.approx(0.61)


def test_a_lucky_lower_floor_is_not_taken():
    good = [(True, 1.0, at(p), at(0.1)) for p in np.linspace(0.61, 0.85, 12)]
    wrong = [(True, 1.0, at(0.05), at(0.505))] * 12
    lucky = [(True, 1.0, at(0.305), at(0.1))] * 30  # with these, most claims from 0.3 on are right
    assert floor_of(*good, *wrong, *lucky) == pytest.approx(0.51)
    assert floor_of(*good, *lucky) == pytest.approx(0.05)


def test_a_false_claim_that_dev_does_not_show_counts_by_what_a_question_stands_for():
    marked = [(True, 1.0, at(p), at(0.04)) for p in (0.85, 0.75, 0.65)]
    assert floor_of(*marked, *[(False, 1.0, at(0.04))] * 40) == pytest.approx(0.05)
    assert floor_of(*marked, *[(False, 40.0, at(0.04))] * 40) == pytest.approx(0.9)


def test_claims_are_right_on_new_questions_as_often_as_the_floor_was_fitted_for():
    """Dev questions of a known law: the floor that they give holds on other questions of it."""
    draws = np.random.default_rng(1)

    def best(marked, unmarked):  # highest probabilities of right and wrong candidates
        right = np.r_[expit(draws.normal(-1.2, 1.5, marked)), np.zeros(unmarked)]
        return right, expit(draws.normal(-3.0, 0.9, marked + unmarked))

    def precision(floor):  # forty questions are unmarked for each marked one
        right, wrong = new
        claims = np.maximum(right, wrong) >= floor
        good, times = claims & (right >= wrong), np.where(right > 0, 1.0, 40 * 2000 / 20_000)
        return times[good].sum() / times[claims].sum()

    new, held = best(2000, 20_000), 0
    for _ in range(20):
        right, wrong = best(45, 300)
        rows = zip(right, wrong, strict=True)
        floor = floor_of(*((r > 0, 1.0 if r else 6.0, at(r or 1e-9), at(w)) for r, w in rows))
        held += precision(floor) >= 0.5
    assert held >= 15


def test_the_floor_leaves_unmarked_questions_alone():
    marked = [(True, 1.0, at(p), at(0.1)) for p in np.linspace(0.3, 0.85, 60)]
    unmarked = [(False, 1.0, at(0.205), at(0.1))] * 90 + [(False, 1.0, at(0.505), at(0.1))] * 10
    assert floor_of(*marked, *unmarked) == pytest.approx(0.51)
    assert floor_of(*marked, *unmarked[:95]) == pytest.approx(0.51)
    assert floor_of(*marked, *unmarked[:94]) == pytest.approx(0.21)


def test_the_floor_is_high_where_no_claim_is_good_enough():
    assert floor_of(*[(False, 1.0, at(0.95))] * 5) == pytest.approx(0.9)
    assert floor_of(*[(True, 1.0, at(0.1), at(0.85))] * 5) == pytest.approx(0.9)


def test_with_few_marks_the_floor_rises_until_few_questions_of_the_archive_are_claimed():
    marked, rare = [(True, 1.0, at(0.1), at(0.85))] * 5, [(False, 1.0, at(0.2))] * 95
    assert floor_of(*marked, *rare, known_from=0.5) == pytest.approx(0.5)
    alike = [(False, 1.0, at(0.705))] * 6
    assert floor_of(*marked, *rare, *alike, known_from=0.5) == pytest.approx(0.71)


def test_nearly_all_questions_of_the_archive_get_results():
    lists = [(False, 1.0, at(0.01 * n), at(0.001)) for n in range(1, 22)]
    assert floor_of(*lists, which=1) == pytest.approx(0.02)


def test_titles_overlap_whatever_the_bodies_say():
    words = QueryWords.of("Flat tyres again?", LexicalIndex().terms)
    post = Post("p", "flat tyre again", "a long body about rain, glass and the way to work")
    assert words.overlap(post) == 1
    assert words.overlap(Post("p", "rain", "flat tyre")) == pytest.approx(2 / 3)
    whole = QueryWords.of("Flat tyres\nwhat now with glass", LexicalIndex().terms)
    assert whole.overlap(post) == pytest.approx(2 / 2)


def test_the_same_title_is_never_improbable():
    never = Calibration(-30.0, {"bm25": 0.0})
    post = Post("p", "Flat tyre, again", "long body")
    asked = QueryWords.of("flat tyre again!", LexicalIndex().terms)
    assert asked.probability(never, post, {"bm25": 1.0}) == 0.5
    other = QueryWords.of("flat tyre", LexicalIndex().terms)
    assert other.probability(never, post, {"bm25": 1.0}) < 1e-6
    assert not same_title("?!", "")
    assert same_title("Flat tyre again\nbut my body differs", post.title)


def test_the_prior_rises_with_words_and_with_a_teachers_score():
    assert prior("minilm").probability({"vectors": 0.95, "shared": 1.0}) > 0.9
    assert prior("minilm").probability({"vectors": 0.2, "shared": 0.0}) < 0.01
    for teacher in ("minilm", "another", None):
        known = [prior(teacher).probability({"vectors": x, "shared": x}) for x in (0, 0.5, 1)]
        assert known == sorted(known)
        assert known[-1] > 0.9


def test_nothing_marked_gives_no_evidence():
    one, posts = shown("flat tyre", ["a chain", "a tyre"], set(), [2, 1])
    assert gather_evidence([one], posts, LexicalIndex().terms) is None
    assert gather_evidence([], {}, LexicalIndex().terms) is None


def rankings(of_score, of_votes, count=2000, seed=1):
    rng = np.random.default_rng(seed)
    actual = []
    for _ in range(count):
        scores, votes = rng.normal(size=20), rng.integers(0, 6, 20).astype(float)
        logits = of_score * scores + of_votes * votes
        right = rng.choice(20, p=np.exp(logits) / np.exp(logits).sum())
        actual.append(VotedList(scores, votes, np.arange(20) == right))
    return actual


def voted(accepted, others, questions=30):
    """The answers of questions whose accepted answer has so many votes, and the others these."""
    return [
        [
            Post(f"a{n}-{k}", kind="answer", parent=f"q{n}", score=votes, accepted=k == 0)
            for k, votes in enumerate([accepted, *others])
        ]
        for n in range(questions)
    ]


def test_slopes_of_score_and_votes_are_found():
    slopes = conditional_slopes(rankings(1.5, 0.6))
    assert slopes.tolist() == pytest.approx([1.5, 0.6], abs=0.1)


def test_a_blend_orders_as_the_votes_did():
    blend = fit_votes(voted(7, [1, 3]), rankings(1.5, 0.6))
    assert blend.votes == pytest.approx(0.4, abs=0.05)
    lead = doublings(7) - (doublings(1) + doublings(3)) / 2
    assert blend.accepted == pytest.approx(blend.votes * lead)
    assert blend.bonus(15, True) > blend.bonus(15, False) > blend.bonus(2, False) > 0
    assert blend.bonus(-2, False) < 0


def test_votes_that_tell_nothing_weigh_nothing():
    assert fit_votes(voted(3, [3]), rankings(1.5, 0.0)).votes == pytest.approx(0, abs=0.05)


def test_without_votes_there_is_no_blend():
    known = rankings(1.5, 0.6, count=50)
    assert fit_votes(voted(7, []), known) is None  # one answer each: nothing to compare
    assert fit_votes(voted(7, [1], questions=3), known) is None
    assert fit_votes(voted(7, [1]), known[:3]) is None
    assert fit_votes(voted(None, [None]), known) is None
