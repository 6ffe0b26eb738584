"""Hyperbolic geometry to the last digit, and the models that sum their words."""

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from askonce.models.base import Encoder, Words
from askonce.models.hyperqa import CosineQA, EuclidQA, HyperQA, HyperQAConcat
from askonce.models.poincare import (
    RADIUS,
    candidate_key,
    clip_to_ball,
    distance,
    query_key,
    riemannian_scale,
    room,
)
from askonce.text.batch import Batch, Numbers

NOTHING = np.array([], dtype=np.int64)
FAMILY = [HyperQA, CosineQA, EuclidQA, HyperQAConcat]
ENCODERS = FAMILY[:3]

# how far inside the sphere, and how far apart in direction: each over many magnitudes
insides = st.floats(-7, 0).map(lambda power: 10.0**power)
spreads = st.floats(-14, 1).map(lambda power: 10.0**power)
seeds = st.integers(0, 2**32 - 1)


def pair(seed, inside_one, inside_other, spread, dim=5):
    rng = np.random.default_rng(seed)
    one = rng.normal(size=dim)
    other = one + spread * rng.normal(size=dim)
    one *= (1 - inside_one) / np.linalg.norm(one)
    other *= (1 - inside_other) / np.linalg.norm(other)
    return torch.tensor(one), torch.tensor(other)


def exact(one, other):
    """Eq. 4 as written and its gradient for the first point (eq. 5).

    With 150 digits: of points 1e-27 apart, γ - 1 is 1e-54, and 60 digits keep six of it.
    """
    with mpmath.workdps(150):
        x, y = ([mpmath.mpf(value) for value in p.double().tolist()] for p in (one, other))
        xx, yy, xy = (mpmath.fdot(a, b) for a, b in ((x, x), (y, y), (x, y)))
        alpha, beta = 1 - xx, 1 - yy
        gamma = 1 + 2 * (xx - 2 * xy + yy) / (alpha * beta)
        front = 4 / (beta * mpmath.sqrt(gamma**2 - 1))
        gradient = [
            front * ((yy - 2 * xy + 1) / alpha**2 * a - b / alpha)
            for a, b in zip(x, y, strict=True)
        ]
        return float(mpmath.acosh(gamma)), torch.tensor(
            list(map(float, gradient)), dtype=torch.float64
        )


def slope(one, other):
    one = one.clone().requires_grad_()
    value = distance(one, other)
    value.backward()
    return value.detach(), one.grad


@settings(max_examples=150, deadline=None)
@given(seeds, insides, insides, spreads)
@example(1047753, 0.9999999999999831, 0.9999999999999831, 1e-13)
def test_distance_and_gradient_are_exact_up_to_radius_one_minus_1e_7(seed, near, far, spread):
    one, other = pair(seed, near, far, spread)
    if torch.equal(one, other):
        return
    value, gradient = slope(one, other)
    expected, expected_gradient = exact(one, other)
    assert float(value) == pytest.approx(expected, rel=1e-8, abs=1e-15)
    assert float((gradient - expected_gradient).norm() / expected_gradient.norm()) < 1e-8


@settings(max_examples=150, deadline=None)
@given(seeds, insides, insides, spreads)
def test_float32_points_get_float32_accuracy(seed, near, far, spread):
    one, other = (p.float() for p in pair(seed, near, far, spread))
    outside = max(float(p.double().norm()) for p in (one, other)) > 1 - 1e-8
    if outside or torch.equal(one, other):  # rounding may have put a point on the sphere
        return
    value, gradient = slope(one, other)
    expected, expected_gradient = exact(one, other)
    assert value.dtype == gradient.dtype == torch.float32
    assert float(value) == pytest.approx(expected, rel=2e-7)
    assert float((gradient - expected_gradient).norm() / expected_gradient.norm()) < 1e-6


LENGTHS = [0.0, 1e-30, 0.3, 1 - 1e-5, 1 - 1e-7, 1.0, 1 + 1e-7, 3.0, 1e8]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("radius", [None, RADIUS])
def test_nothing_is_ever_infinite_or_not_a_number(dtype, radius):
    direction = torch.nn.functional.normalize(torch.tensor([1.0, 2.0, 2.0]), dim=0)
    base = torch.stack([length * direction for length in LENGTHS]).to(dtype)
    points = torch.cat([base, base.flip(1), base * (1 + 1e-6)]).requires_grad_()
    one, other = points[:, None], points[None]
    limit = {} if radius is None else {"radius": radius}
    for near, far in ((one, other), (clip_to_ball(one), clip_to_ball(other))):
        values = distance(near, far, **limit)
        (gradient,) = torch.autograd.grad(values.sum(), points)
        assert values.isfinite().all()
        assert gradient.isfinite().all()
        assert (values.diagonal() == 0).all()
    assert query_key(points).isfinite().all()
    assert candidate_key(points, **limit).isfinite().all()
    assert riemannian_scale(points, **limit).isfinite().all()


@settings(max_examples=100, deadline=None)
@given(seeds, insides, insides, insides)
def test_distance_is_a_metric_that_rotation_keeps(seed, a, b, c):
    one, other = pair(seed, a, b, 1.0)
    third, _ = pair(seed + 1, c, c, 1.0)
    apart = distance(one, other)
    assert float(apart) == float(distance(other, one))
    assert float(distance(one, one)) == 0
    assert float(apart) <= float(distance(one, third) + distance(third, other)) + 1e-8
    turn, _ = torch.linalg.qr(torch.tensor(np.random.default_rng(seed).normal(size=(5, 5))))
    assert float(distance(turn @ one, turn @ other)) == pytest.approx(float(apart), abs=1e-7)


def test_gradient_checks_numerically_through_clip_and_distance():
    torch.manual_seed(2)
    inner, outer = 0.1 * torch.randn(3, 4).double(), 2 * torch.randn(3, 4).double()
    points = (inner.requires_grad_(), outer.requires_grad_())
    assert torch.autograd.gradcheck(lambda x, y: distance(clip_to_ball(x), clip_to_ball(y)), points)


def test_clip_leaves_inner_points_and_keeps_directions():
    points = torch.tensor([[0.3, 0.4], [3.0, 4.0], [0.0, 0.0]]).double()
    clipped = clip_to_ball(points)
    torch.testing.assert_close(clipped[0], points[0], atol=0, rtol=0)
    torch.testing.assert_close(clipped[1], points[1] / 5 * RADIUS)
    assert (clipped[2] == 0).all()


def test_a_point_beyond_the_radius_counts_as_on_it():
    edge = 1 - RADIUS**2
    points = torch.tensor([[0.6, 0.0], [1 - 9e-6, 0.0], [7.0, 0.0]]).double()
    torch.testing.assert_close(room(points, RADIUS), torch.tensor([0.64, edge, edge]).double())


@pytest.fixture(scope="module")
def words() -> Words:
    vectors = torch.randn(50, 6, generator=torch.Generator().manual_seed(1))
    return Words(vectors, torch.ones(50, dtype=torch.long), 10, torch.zeros(50).bool())


def texts(*rows) -> Batch:
    return Batch([Numbers(NOTHING, np.array(row, dtype=np.int64)) for row in rows])


QUERIES = texts([3, 4, 5, 3], [6], [], [7, 8, 9, 10, 11])
ANSWERS = texts([12, 13, 14, 3, 4, 16, 17], [18, 19], [20, -77, 22, -5], [])


def build(kind, words, **changes):
    """A model whose every weight is random."""
    torch.manual_seed(4)
    model = kind(kind.Config(**{"dim": 8, **changes}), words)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if not name.startswith("words."):
                value.add_(0.1 * torch.randn_like(value))
    return model


def test_only_the_concat_variant_has_no_vectors_to_index():
    assert [issubclass(kind, Encoder) for kind in FAMILY] == [True, True, True, False]


@pytest.mark.parametrize("scale", ["sum", "mean", "learned"])
def test_distinct_words_sum_as_each_occurrence_does(words, scale):
    model = build(HyperQA, words, scale=scale)
    view = QUERIES.text
    projected = model.bag.projection(model.words.weight[view.ids]).relu()  # (B, T, d)
    total = (projected * view.real.unsqueeze(-1)).sum(1)
    if scale == "mean":
        total = total / torch.tensor([4, 1, 1, 5])[:, None]
    if scale == "learned":
        total = total / model.bag.log_temperature.exp()
    torch.testing.assert_close(model.total(QUERIES), total)


def test_an_empty_text_is_the_middle_of_the_ball(words):
    for prepared in (False, True):
        model = build(HyperQA, words).eval()
        if prepared:
            model.prepare()
        assert (model.encode(QUERIES)[2] == 0).all()
        assert (model.encode(texts([], [])) == 0).all()


@pytest.mark.parametrize("kind", FAMILY)
@pytest.mark.parametrize("scale", ["sum", "mean", "learned"])
def test_the_table_changes_no_score(words, kind, scale, monkeypatch):
    monkeypatch.setattr("askonce.models.hyperqa.TABLE_ROWS", 7)  # the last part is not full
    model = build(kind, words, scale=scale).eval()
    before = model(QUERIES, ANSWERS)
    model.prepare()
    assert model.bag.table.shape == (50, 8)
    torch.testing.assert_close(model(QUERIES, ANSWERS), before, atol=1e-5, rtol=1e-5)


def test_the_table_lives_as_long_as_the_weights_it_was_made_of(words):
    model = build(HyperQA, words)
    keys = set(model.state_dict())
    model.prepare()
    assert model.bag.table is None  # still in training
    model.eval().prepare()
    assert model.bag.table is not None
    assert set(model.state_dict()) == keys
    assert model.double().bag.table.dtype == torch.float64
    model.train()
    assert model.bag.table is None
    model.eval().prepare()
    model.load_state_dict(model.state_dict())
    assert model.bag.table is None


@pytest.mark.parametrize("kind", FAMILY)
def test_the_padding_row_may_hold_anything(words, kind):
    vectors = words.vectors.clone()
    vectors[0] = torch.nan
    model = build(kind, Words(vectors, words.document_frequency, words.documents, words.stop))
    for mode in (True, False):
        model.train(mode).prepare()
        scores = model(QUERIES, ANSWERS)
        assert scores.isfinite().all()
        model.zero_grad()
        if mode:
            scores.sum().backward()
            assert all(p.grad.isfinite().all() for p in model.parameters() if p.requires_grad)


@pytest.mark.parametrize("dim", [4, 6, 15])
def test_identity_starts_with_the_positive_part_and_no_dead_unit(words, dim):
    model = HyperQA(HyperQA.Config(dim=dim), words)
    kept = min(dim, 6)
    vectors = model.total(texts([5], [9]))
    torch.testing.assert_close(vectors[:, :kept], words.vectors[[5, 9], :kept].relu())
    assert (model.total(texts(range(1, 50))) > 0).all()
    assert not torch.equal(
        HyperQA(HyperQA.Config(dim=dim, init="uniform"), words).bag.projection.weight[:kept],
        model.bag.projection.weight[:kept],
    )


def test_score_heads():
    apart = torch.tensor([0.0, 0.5, 2.0])
    words = Words(torch.zeros(3, 2), torch.ones(3), 1, torch.zeros(3).bool())
    expected = {
        "linear": -apart,
        "exp": (-apart).exp(),
        "sigmoid": (-apart).sigmoid(),
        "raw": -apart,
    }
    for score, values in expected.items():
        model = HyperQA(HyperQA.Config(dim=2, score=score), words)
        torch.testing.assert_close(model.head(apart).detach(), values)
        assert model.trainable_parameters() == 6 + (2 if score in ("linear", "sigmoid") else 0)
    assert float(CosineQA(CosineQA.Config(dim=2), words).head(apart)[1].detach()) == 0.5


def ball(count, seed):
    """Points over the whole ball, a third of them clipped to its edge, as a trained model's are."""
    rng = np.random.default_rng(seed)
    points = np.abs(rng.normal(size=(count, 20)))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    radius = np.where(np.arange(count) % 3 == 0, 1 + 1e-3, rng.uniform(0.5, 1, count))
    return clip_to_ball(torch.tensor(points * radius[:, None]))


@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.parametrize("weight", [-1.5, 1.5, None])
def test_keys_find_the_same_hundred_of_five_thousand(words, kind, weight):
    model = kind(kind.Config(dim=20, score="raw" if weight is None else "linear"), words).double()
    if weight is not None:
        torch.nn.init.constant_(model.head.linear.weight, weight)
    queries, pool = ball(200, 1), ball(5000, 2)
    with torch.inference_mode():
        keys = model.query_key(queries) @ model.candidate_key(pool).T
        for row, query in zip(keys, queries, strict=True):
            similar = model.similarity(query, pool)
            assert torch.equal(row.topk(100).indices, similar.topk(100).indices)


@pytest.mark.parametrize("score", ["exp", "sigmoid"])
def test_keys_order_as_the_curved_scores_do(words, score):
    model = HyperQA(HyperQA.Config(dim=20, score=score), words).double()
    query, pool = ball(1, 1), ball(500, 2)
    with torch.inference_mode():
        order = (model.query_key(query) @ model.candidate_key(pool).T)[0].argsort(descending=True)
        assert (model.similarity(query, pool)[order].diff() <= 0).all()


def test_rounding_does_not_order_clipped_texts_in_float32(words):
    model = HyperQA(HyperQA.Config(dim=300), words)
    one = torch.randn(300).abs()
    lengths = torch.linspace(1.01, 400, 1000)[:, None]
    vectors = clip_to_ball(one * lengths, RADIUS + 1e-6)  # one direction, as encode clips it
    with torch.inference_mode():
        scores = model.similarity(torch.zeros(300), vectors)
    assert float(scores.max() - scores.min()) < 4e-6  # one unit in the last place
    keys = model.candidate_key(vectors)
    assert (keys[:, 300] == keys[0, 300]).all()


def gradient_at_vectors(model):
    """What reaches the unclipped vectors, for texts that lie inside the ball."""
    kept = []
    total = model.total

    def watched(batch):
        kept.append(total(batch))
        kept[-1].retain_grad()
        return kept[-1]

    model.total = watched
    model(texts([3]), texts([9, 4])).sum().backward()
    return kept


def test_ball_gradient_is_the_euclidean_one_times_the_inverse_metric(words):
    small = Words(words.vectors / 9, words.document_frequency, words.documents, words.stop)
    plain = gradient_at_vectors(HyperQA(HyperQA.Config(dim=6), small))
    scaled = gradient_at_vectors(HyperQA(HyperQA.Config(dim=6, gradient="ball"), small))
    for one, other in zip(plain, scaled, strict=True):
        squared = one.detach().square().sum()
        assert float(squared) < 1
        torch.testing.assert_close(other.grad, one.grad * (1 - squared) ** 2 / 4)


def test_ball_gradient_works_on_kept_states_without_gradients(words):
    model = build(HyperQA, words, gradient="ball").eval()
    with torch.inference_mode():
        assert model(QUERIES, ANSWERS).isfinite().all()


def test_dropout_acts_in_training_only(words):
    model = build(HyperQA, words, dropout=0.5)
    assert not torch.equal(model.total(ANSWERS), model.total(ANSWERS))
    model.eval()
    assert torch.equal(model.total(ANSWERS), model.total(ANSWERS))


def test_concat_starts_as_hyperqa_and_learns_from_both_vectors(words):
    concat = HyperQAConcat(HyperQAConcat.Config(dim=6), words)
    hyper = HyperQA(HyperQA.Config(dim=6), words)
    scores = concat(QUERIES, ANSWERS)
    torch.testing.assert_close(scores, hyper(QUERIES, ANSWERS))
    scores.sum().backward()
    one, other = concat.vectors(QUERIES).sum(0), concat.vectors(ANSWERS).sum(0)
    torch.testing.assert_close(concat.last.weight.grad[0, :-1], torch.cat([one, other]).detach())


def test_inspect_gives_the_length_of_each_projected_word(words):
    model = HyperQA(HyperQA.Config(dim=6), words).eval()
    query, candidate = model.inspect(QUERIES, ANSWERS)
    assert (query.kind, query.side, candidate.side) == ("norm", "query", "candidate")
    lengths = words.vectors.relu().norm(dim=1)
    torch.testing.assert_close(query.values[0], torch.cat([lengths[[3, 4, 5, 3]], torch.zeros(1)]))
    assert (query.values[2] == 0).all()  # an empty text
    torch.testing.assert_close(candidate.values[2, 1], lengths[1])  # an unknown word


@pytest.mark.parametrize("kind", FAMILY)
def test_model_gradients_check_numerically(words, kind):
    model = build(kind, words, scale="learned").double()
    parameters = [p for p in model.parameters() if p.requires_grad]

    def score(*_):
        return model(texts([3, 4], [5]), texts([6, 6], [9, 10]))

    assert torch.autograd.gradcheck(score, parameters)
