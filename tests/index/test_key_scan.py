import numpy as np
import pytest

from askonce.index import key_scan, key_search
from askonce.index.key_scan import BLOCK, RoundedKeys, float_products
from askonce.index.key_search import KeySnapshot


def topics(count, dim, spread, seed=1):
    """Directions around a few centres, as the texts of a forum around its topics."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(count // 60, dim))
    points = centres[rng.integers(0, len(centres), count)] + spread * rng.normal(size=(count, dim))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def outliers(count, dim):
    """A few dimensions far larger than the others, as some sentence encoders have them."""
    keys = topics(count, dim, 0.7)
    keys[:, :2] *= 12
    return keys


def lengths(count, dim):
    """Lengths that differ by orders of magnitude, some keys zero."""
    keys = topics(count, dim, 0.7) * 10 ** np.linspace(-3, 3, count, dtype=np.float32)[:, None]
    keys[::500] = 0
    return keys


KEYS = {
    "topics": topics(BLOCK + 700, 96, 0.7),
    "nearly equal": topics(BLOCK + 700, 96, 0.7) * 0.001 + np.float32(1),
    "equal pairs": np.repeat(topics(BLOCK // 2 + 350, 96, 0.7), 2, axis=0),
    "outliers": outliers(BLOCK + 700, 96),
    "lengths": lengths(BLOCK + 700, 96),
    "two blocks": topics(2 * BLOCK, 33, 0.7),
    "no block": topics(500, 33, 0.7),
}


def snapshot_of(keys, dead=()):
    alive = np.ones(len(keys), dtype=bool)
    alive[list(dead)] = False
    return KeySnapshot(keys, alive, int(alive.sum()), [f"p{row:05}" for row in range(len(keys))])


def exact(snapshot, query, k):
    """The best posts by products in float64, ties by id."""
    products = (snapshot.keys.astype(np.float64) * query).sum(axis=1)
    living = [row for row in range(len(products)) if snapshot.alive[row]]
    best = sorted(living, key=lambda row: (-products[row], snapshot.ids[row]))[:k]
    return [(snapshot.ids[row], products[row]) for row in best]


@pytest.fixture(params=[True, False], ids=["8 bits", "float32"])
def kernel(request, monkeypatch):
    monkeypatch.setattr(key_search, "HAS_KERNEL", request.param)
    return request.param


@pytest.mark.parametrize("name", KEYS)
def test_a_scan_finds_exactly_the_best(kernel, name):
    keys = KEYS[name]
    snapshot = snapshot_of(keys, dead=range(0, len(keys), 7))
    queries = keys[[3, 60, 444]] + np.float32(0.02)
    for k in (1, 20, 50):
        for query, hits in zip(queries, snapshot.best_many(queries, k), strict=True):
            assert [tuple(hit) for hit in hits] == exact(snapshot, query, k)
            assert snapshot.best(query, k) == hits


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("rounded", [True, False], ids=["8 bits", "float32"])
def test_no_product_is_more_wrong_than_it_says(rounded, name):
    keys = KEYS[name]
    queries = np.concatenate([5 * keys[[1, 2]], np.zeros_like(keys[:1])])
    products = RoundedKeys().products(keys, queries) if rounded else float_products(keys, queries)
    lengths = np.linalg.norm(queries.astype(np.float64), axis=1, keepdims=True)
    true = queries / np.maximum(lengths, 1e-30) @ keys.T.astype(np.float64)
    assert (np.abs(products.values - true) <= products.errors).all()


def test_few_rows_are_left_for_exact_products(monkeypatch):
    rows = []
    monkeypatch.setattr(key_search, "HAS_KERNEL", True)
    snapshot = snapshot_of(KEYS["topics"])
    monkeypatch.setattr(KeySnapshot, "_hits", lambda self, own, key, k: rows.append(len(own)))
    snapshot.best_many(KEYS["topics"][:20], 50)
    assert max(rows) < len(snapshot.keys) / 10


def test_later_snapshots_share_the_blocks_and_see_their_own_rows():
    keys = topics(3 * BLOCK, 16, 0.7)
    rounded = RoundedKeys()
    for count in (2 * BLOCK, 3 * BLOCK, BLOCK + 5, 9):  # also an older snapshot after a later one
        products = rounded.products(keys[:count], keys[:2])
        assert products.values.shape == (2, count) and products.errors.shape == (count,)
        assert np.abs(products.values - keys[:2] @ keys[:count].T).max() < 0.05
    assert len(rounded._blocks) == 3


def test_blocks_are_rounded_once(monkeypatch):
    calls = []
    original = key_scan.Rounded.of
    monkeypatch.setattr(
        key_scan.Rounded, "of", lambda keys: calls.append(len(keys)) or original(keys)
    )
    rounded, keys = RoundedKeys(), topics(2 * BLOCK + 9, 16, 0.7)
    for _ in range(3):
        rounded.products(keys, keys[:2])
    assert calls.count(BLOCK) == 2
