"""What serves is chosen on dev: BM25, vectors, both, a pair model only if it gains."""

import numpy as np
import pytest

from askonce.training.archive.search import CANDIDATES, Found
from askonce.training.archive.selection import (
    Join,
    alone,
    average_precision,
    choose_pair,
    choose_vectors,
    figures,
    gains,
)
from askonce.types import Pool, Post


def question(number, bm25, vectors, right, missed=0):
    posts = tuple(Post(f"{number}-{n}", f"text {n}") for n in range(len(bm25)))
    gone = tuple(Post(f"{number}-m{n}", "gone") for n in range(missed))
    labels = tuple(int(n in right) for n in range(len(bm25)))
    pool = Pool(Post(f"q{number}", "query"), posts, labels, gone)
    return Found(pool, {"bm25": np.array(bm25, float), "vectors": np.array(vectors, float)})


def made(count, of_bm25, of_vectors, size=30, seed=1):
    """Questions with one right candidate, which each stage raises by so much."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        bm25, vectors = rng.normal(size=(2, size))
        right = int(rng.integers(size))
        bm25[right] += of_bm25
        vectors[right] += of_vectors
        found.append(question(number, bm25, vectors, {right}))
    return found


def test_bm25_serves_when_vectors_know_nothing():
    assert choose_vectors(made(100, 2.0, 0.0)) == alone("bm25")


def test_vectors_serve_when_bm25_knows_nothing():
    join = choose_vectors(made(100, 0.0, 2.0))
    assert join.weights.get("bm25", 0.0) <= 0.25 * join.weights["vectors"]


def test_both_serve_when_each_knows_something():
    dev, test = made(150, 1.5, 1.5), made(150, 1.5, 1.5, seed=2)
    join = choose_vectors(dev)
    assert join.weights.keys() == {"bm25", "vectors"}
    assert figures(test, join)["MAP"] > figures(test, alone("bm25"))["MAP"] + 0.05


def test_luck_on_a_small_dev_is_no_gain():
    kept = [choose_vectors(made(6, 2.0, 0.0, seed=seed)) == alone("bm25") for seed in range(20)]
    assert sum(kept) >= 15
    assert not gains(np.array([0.6]), np.array([0.5]))
    assert not gains(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    assert gains(np.array([0.7, 0.6, 0.8]), np.array([0.5, 0.5, 0.5]))


def test_a_pair_model_serves_only_if_it_gains():
    dev = made(150, 1.5, 1.5)
    before = Join("zscore", {"bm25": 1.0, "vectors": 1.0})
    rng = np.random.default_rng(3)

    def with_pair(lift):
        return [
            Found(
                one.pool,
                {**one.scores, "pair": rng.normal(size=30) + lift * np.array(one.pool.labels)},
            )
            for one in dev
        ]

    assert choose_pair(with_pair(0.0), before) == before
    assert choose_pair(with_pair(2.0), before).weights["pair"] > 0


def test_missed_posts_count_and_lists_are_cut():
    one = question(1, [3, 2, 1], [0, 0, 0], {0, 2}, missed=1)
    assert average_precision(one, one.scores["bm25"]) == pytest.approx((1 + 2 / 3) / 3)
    assert figures([one], alone("bm25"))["MAP"] == pytest.approx((1 + 2 / 3) / 3)
    long = question(1, np.arange(80.0)[::-1], np.zeros(80), {60})
    assert average_precision(long, long.scores["bm25"]) == 0
    assert figures([long], alone("bm25"))["MAP"] == 0
    first = long.first(long.scores["bm25"])
    assert len(first.pool.candidates) == CANDIDATES
    assert [post.id for post in first.pool.missed] == ["1-60"]
    assert first.scores["bm25"].tolist() == list(range(79, 29, -1))
