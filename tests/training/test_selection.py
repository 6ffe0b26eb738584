"""What serves is selected on dev: BM25, vectors, both, a pair model only if it gains."""

from dataclasses import replace

import numpy as np
import pytest

from askonce.archive.open import open_archive
from askonce.index.lexical import LexicalIndex
from askonce.ranking.fusion import Fusion
from askonce.ranking.manifest import Serving
from askonce.ranking.stages import Candidates, Query
from askonce.training.archive.selection.compare import (
    EncoderComparison,
    Measured,
    Selected,
    average_precision,
    before_reading,
    figures,
    gains,
    select_bm25,
    select_encoder,
    select_pair,
    while_typing,
)
from askonce.training.archive.selection.held_out import EncodedPosts, HeldOut
from askonce.training.archive.tasks.labels import ArchiveLabels, LabelledQuery
from askonce.training.archive.tasks.pools import question_task
from askonce.types import Post


class Planned(HeldOut):
    """Questions with one right candidate each; every stage raises it by a given lift.

    The stages are planned, the fusion and the selection are the real ones.
    """

    @classmethod
    def of(cls, count, bm25, vectors=0.0, size=30, seed=1):
        rng = np.random.default_rng(seed)
        queries, planned = [], {}
        for number in range(count):
            ids = [f"{number:03}-{n:02}" for n in range(size)]
            right = int(rng.integers(size))
            stages = {"bm25": rng.normal(size=size), "vectors": rng.normal(size=size)}
            stages["bm25"][right] += bm25
            stages["vectors"][right] += vectors
            queries.append(LabelledQuery(Post(f"q{number}", f"{number}"), (Post(ids[right]),)))
            planned[f"{number}"] = Candidates(ids, stages)
        posts = {name: Post(name) for candidates in planned.values() for name in candidates.ids}
        made = cls(queries, posts, {}, LexicalIndex())
        object.__setattr__(made, "planned", planned)
        return made

    def pipeline(self, serving, encoder=None, pair=None):
        return replace(super().pipeline(serving, None, pair), pair=pair)

    def find(self, pipeline, queries):
        return [self.planned[query.query.text] for query in queries]


def splits(*arguments, **more):
    return {
        "dev": Planned.of(*arguments, **{"seed": 1} | more),
        "test": Planned.of(*arguments, **{"seed": 2} | more),
    }


ENCODER = EncodedPosts("made", "questions/encoder", None, np.empty((0, 1)))


class Pair:
    """A pair model that raises right candidates by a lift, amid noise."""

    def __init__(self, held_out, lift, noise=1.0):
        queries = [query for split in held_out.values() for query in split.queries]
        self.right = {(q.query.text, post.id) for q in queries for post in q.right}
        self.lift, self.noise, self.rng = lift, noise, np.random.default_rng(3)

    def predict(self, pairs):
        noise = self.noise * self.rng.normal(size=len(pairs))
        return noise + self.lift * np.array([(q, post.id) in self.right for q, post in pairs])


def selected_encoder(made):
    return select_encoder(made, select_bm25(made), [ENCODER])


def test_bm25_serves_when_vectors_know_nothing():
    chosen = selected_encoder(splits(100, 2.0, 0.0))
    assert chosen.served.fusion == Fusion()
    assert chosen.encoder is None
    assert chosen.figures()["dev"]["fused"] == chosen.figures()["dev"]["bm25"]
    assert "vectors" in chosen.systems


def test_vectors_serve_when_bm25_knows_nothing():
    weights = selected_encoder(splits(100, 0.0, 2.0)).served.fusion.weights
    assert weights.get("bm25", 0.0) <= 0.25 * weights["vectors"]


def test_both_serve_when_each_knows_something():
    chosen = selected_encoder(splits(150, 1.5, 1.5))
    assert chosen.served.fusion.weights.keys() == {"bm25", "vectors"}
    assert chosen.encoder is ENCODER
    test = chosen.figures()["test"]
    assert test["fused"]["MAP"] > test["bm25"]["MAP"] + 0.05
    assert list(test)[-1] == "fused"


@pytest.mark.parametrize(("lift", "serves"), [(3.0, True), (0.0, False)])
def test_before_a_teacher_has_read_a_pair_model_serves_only_if_it_gains(lift, serves):
    read, every = splits(150, 1.5, 3.0), splits(150, 1.5, 1.5)
    chosen = replace(selected_encoder(read), pair=Pair(every, lift))
    unread = before_reading(every, chosen, NoKeys(), [])
    assert (unread.served.fusion.weight("pair") > 0) is serves


class NoKeys:
    """An encoder of planned questions, which need none."""

    def candidate_keys(self, posts):
        return np.empty((len(posts), 1))


@pytest.mark.parametrize(("lift", "least", "most"), [(0.0, 0.0, 0.25), (1.5, 0.5, 2.0)])
def test_before_a_teacher_has_read_vectors_weigh_what_the_student_knows(lift, least, most):
    chosen = selected_encoder(splits(150, 1.5, 3.0))
    unread = before_reading(splits(150, 1.5, lift), chosen, NoKeys(), [])
    bm25, fused = unread.systems["bm25"], unread.served
    assert fused.dev_map >= bm25.dev_map
    assert least <= fused.fusion.weight("vectors") <= most
    assert fused.fusion.weight("vectors") < chosen.served.fusion.weights["vectors"]


@pytest.mark.parametrize(("lift", "least", "most"), [(0.0, 0.0, 0.25), (1.5, 0.5, 2.0)])
def test_while_typing_vectors_weigh_what_the_student_knows(lift, least, most):
    chosen = selected_encoder(splits(150, 1.5, 3.0))
    typed = while_typing(splits(150, 1.5, lift), chosen, NoKeys())
    bm25 = select_bm25(splits(150, 1.5, lift)).served
    assert typed.dev_map >= bm25.dev_map
    assert least <= typed.fusion.weight("vectors") <= most
    assert typed.fusion.weight("vectors") < chosen.served.fusion.weights["vectors"]


def test_while_typing_labels_that_stand_in_for_marks_change_no_weights():
    chosen = selected_encoder(splits(150, 1.5, 3.0))
    typed = while_typing(splits(150, 1.5, 0.0), chosen, NoKeys(), proxy=True)
    assert typed.fusion == chosen.served.fusion


def test_an_earlier_encoder_serves_unless_dev_can_tell_them_apart():
    made = splits(150, 0.5, 2.0)
    first, same = replace(ENCODER, name="first"), replace(ENCODER, name="same")
    chosen = select_encoder(made, select_bm25(made), [first, same])
    assert chosen.encoder is first
    systems = ["bm25", "vectors", "vectors same", "fused same", "fused"]
    assert list(chosen.figures()["dev"]) == systems
    assert list(chosen.intervals(made)["test"]) == systems


def test_luck_on_a_small_dev_is_no_gain():
    chosen = [selected_encoder(splits(6, 2.0, 0.0, seed=seed)) for seed in range(20)]
    assert sum(one.served.fusion == Fusion() for one in chosen) >= 15
    assert not gains(np.array([0.6]), np.array([0.5]))
    assert not gains(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    assert gains(np.array([0.7, 0.6, 0.8]), np.array([0.5, 0.5, 0.5]))


def test_labels_that_stand_in_for_marks_are_no_evidence_against_a_teacher():
    made = splits(120, bm25=3.0, vectors=0.0)
    comparison = EncoderComparison(made, select_bm25(made), proxy=True)
    teacher = replace(ENCODER, name="teacher", usual_weight=3.0)
    comparison.add(teacher)
    comparison.add(ENCODER)  # gains on the teacher, since it may have less weight; not on BM25
    assert comparison.best is teacher
    good = splits(120, bm25=3.0, vectors=3.0)
    comparison = EncoderComparison(good, select_bm25(good), proxy=True)
    comparison.add(ENCODER)
    assert comparison.best is ENCODER


def test_one_question_is_no_gain():
    """Its rise equals the standard error, whatever the rounding."""
    for n in range(2, 60):
        base = np.full(n, 0.3)
        values = base.copy()
        values[n // 2] += 0.1 / n
        assert not gains(values, base)
        values[0] += 0.1 / n
        assert gains(values, base)


@pytest.mark.parametrize(
    ("count", "vectors", "serves"),
    [(2, 2.0, True), (3, -8.0, False), (120, 0.0, False)],  # unsure; harm; harm in the long run
)
def test_a_teacher_serves_beside_bm25_unless_dev_shows_harm(count, vectors, serves):
    made = splits(count, bm25=3.0, vectors=vectors, size=10)
    teacher = replace(ENCODER, usual_weight=3.0)
    chosen = select_encoder(made, select_bm25(made), [teacher])
    assert select_encoder(made, select_bm25(made), [ENCODER]).encoder is None
    assert (chosen.encoder is teacher) == serves
    if serves:
        assert chosen.served.fusion.weights == {"bm25": 1.0, "vectors": 3.0}


def test_a_usual_weight_serves_unless_another_gains_on_it():
    made = splits(6, bm25=3.0, vectors=3.0, size=10)  # dev has the same MAP with several fusions
    teacher = replace(ENCODER, usual_weight=3.0)
    chosen = select_encoder(made, select_bm25(made), [teacher])
    assert chosen.encoder is teacher
    assert chosen.served.fusion.weights == {"bm25": 1.0, "vectors": 3.0}
    made = splits(200, bm25=3.0, vectors=1.0, size=30)  # and here a lower weight is better
    chosen = select_encoder(made, select_bm25(made), [teacher])
    assert chosen.encoder is teacher
    assert chosen.served.fusion.weights["vectors"] < 3.0
    assert chosen.served.dev_map > select_bm25(made).served.dev_map


def test_a_usual_weight_that_lowers_dev_a_little_does_not_serve():
    """Lower by less than the standard error: no proof of harm, but no reason to serve either."""
    made = splits(30, bm25=2.0, vectors=0.0, size=10, seed=3)
    dev = made["dev"]
    usual, bm25 = Fusion(weights={"bm25": 1.0, "vectors": 0.6}), Fusion(weights={"bm25": 1.0})
    values, base = (
        np.array(
            [
                average_precision(fusion.join(candidates), query.right_ids)
                for candidates, query in zip(dev.find(None, dev.queries), dev.queries, strict=True)
            ]
        )
        for fusion in (usual, bm25)
    )
    assert values.mean() < base.mean()
    assert not gains(base, values)
    teacher = replace(ENCODER, usual_weight=0.6)
    assert select_encoder(made, select_bm25(made), [teacher]).encoder is None


def test_a_pair_model_serves_only_if_it_gains():
    made = splits(150, 1.5, 1.5)
    first = selected_encoder(made)
    useless = select_pair(made, first, Pair(made, 0.0))
    assert useless.pair is None
    assert useless.served is first.served
    assert "pair" in useless.systems
    helpful = Pair(made, 2.0)
    chosen = select_pair(made, first, helpful)
    assert chosen.pair is helpful
    assert chosen.served.fusion.weights["pair"] > 0
    dev = chosen.figures()["dev"]
    assert dev["without pair"] == first.served.metrics["dev"]
    assert dev["fused"]["MAP"] > dev["without pair"]["MAP"]


def crowded(seed, count=100, size=100):
    """Candidates that are fused well together, but badly once only the best 50 are normalised.

    Half of them have a very low score by vectors, beside which the noise of the others vanishes;
    among the best 50 that noise is all the variance there is.
    """
    made = Planned.of(count, 3.5, size=size, seed=seed)
    rng = np.random.default_rng(seed)
    for candidates in made.planned.values():
        worst = np.argsort(-candidates.stages["bm25"])[50:]
        candidates.stages["bm25"][worst] -= 5
        candidates.stages["vectors"][:] = 0.01 * rng.normal(size=size)
        candidates.stages["vectors"][worst] -= 1
    return made


def test_a_pair_model_is_compared_with_the_order_that_serves_without_it():
    made = {"dev": crowded(1), "test": crowded(2)}
    fusion = Fusion("zscore", {"bm25": 1.0, "vectors": 3.0})
    rankings = {
        name: [fusion.join(candidates) for candidates in split.planned.values()]
        for name, split in made.items()
    }
    metrics = {name: figures(made[name].queries, rankings[name]) for name in made}
    first = Selected(Measured(fusion, rankings, metrics), {})
    # better than the first stages normalised over the best 50, worse than the order that serves
    harmful = Pair(made, 2.0)
    pipeline = replace(first, pair=harmful).pipeline(made["dev"])
    queries = made["dev"].queries
    heads = pipeline.read_pairs([Query(q.query.text) for q in queries], rankings["dev"])
    renormalised = figures(queries, [fusion.join(head) for head in heads])["MAP"]
    with_pair = Fusion("zscore", {**fusion.weights, "pair": 4.0})
    harmed = figures(queries, [with_pair.join(head) for head in heads])["MAP"]
    assert renormalised + 0.05 < harmed < metrics["dev"]["MAP"] - 0.05

    chosen = select_pair(made, first, harmful)
    assert chosen.pair is None
    assert chosen.figures()["dev"]["fused"] == metrics["dev"]
    helpful = select_pair(made, first, Pair(made, 20.0))
    assert helpful.pair is not None
    assert helpful.figures()["dev"]["fused"]["MAP"] > metrics["dev"]["MAP"]


def test_missed_posts_count_and_lists_are_cut():
    right = {"p0", "p2", "gone"}
    ranked = Fusion().join(Candidates(["p0", "p1", "p2"], {"bm25": np.array([3.0, 2.0, 1.0])}))
    query = LabelledQuery(Post("q"), tuple(map(Post, sorted(right))))
    assert average_precision(ranked, right) == pytest.approx((1 + 2 / 3) / 3)
    assert figures([query], [ranked])["MAP"] == pytest.approx((1 + 2 / 3) / 3)
    ids = [f"p{n:02}" for n in range(80)]
    long = Fusion().join(Candidates(ids, {"bm25": np.arange(80.0)[::-1]}))
    assert average_precision(long, {"p60"}) == 0
    assert figures([LabelledQuery(Post("q"), (Post("p60"),))], [long])["MAP"] == 0


def test_finding_nothing_is_worth_nothing():
    nothing = Fusion().join(Candidates([], {"bm25": np.empty(0)}))
    assert set(figures([LabelledQuery(Post("q"), (Post("p"),))], [nothing]).values()) == {0.0}


# -- with real posts -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bicycles():
    """Real posts, of which those that BM25 finds at rank 4 are right."""
    task = question_task(ArchiveLabels.of(open_archive("bicycles").snapshot()))
    made = {}
    for name in ("dev", "test"):
        split = HeldOut.of(task, name)
        ranked = split.rank(split.pipeline(Serving()), split.queries)
        right = [split.by_id[one.ids[3]] for one in ranked]
        queries = [
            LabelledQuery(query.query, (post,), unjudged=query.unjudged)
            for query, post in zip(split.queries, right, strict=True)
        ]
        made[name] = replace(split, queries=queries)
    return made


@pytest.mark.parametrize(("lift", "serves"), [(1.0, True), (-1.0, False)])
def test_an_oracle_serves_and_its_opposite_does_not(bicycles, lift, serves):
    first = select_bm25(bicycles)
    pair = Pair(bicycles, lift, noise=0.0)
    chosen = select_pair(bicycles, first, pair)
    dev = chosen.figures()["dev"]
    assert chosen.pair is (pair if serves else None)
    assert (dev["fused"]["MAP"] > dev["bm25"]["MAP"] + 0.2) == serves
    split = bicycles["dev"]
    served = split.rank(chosen.pipeline(split), split.queries)
    assert [one.ids for one in served] == [one.ids for one in chosen.served.rankings["dev"]]
