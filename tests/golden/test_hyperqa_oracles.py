"""HyperQA against numbers computed apart from it, and the parameter counts of paper 004."""

import math

import numpy as np
import pytest
import torch

from askonce.models.base import EmbeddingInit
from askonce.models.hyperqa import CosineQA, EuclidQA, HyperQA, HyperQAConcat, ScoreHead
from askonce.models.layers.poincare import RADIUS, distance, room
from askonce.text.batch import Batch, TokenIds

NOTHING = np.array([], dtype=np.int64)


def wave(shape, phase):
    flat = 0.5 * np.sin(phase + 0.7 * np.arange(int(np.prod(shape))))
    return torch.tensor(flat.reshape(shape))


def point(*coordinates):
    return torch.tensor(coordinates, dtype=torch.float64)


def words_of(vectors):
    size = len(vectors)
    return EmbeddingInit(
        vectors, torch.ones(size, dtype=torch.long), size, torch.zeros(size).bool()
    )


def texts(*rows):
    return Batch([TokenIds(NOTHING, np.array(row, dtype=np.int64)) for row in rows])


@pytest.mark.parametrize(
    ("radius", "expected"),
    [
        (0.1, 0.200671),
        (0.5, 1.098612),
        (0.9, 2.944439),
        (0.99, 5.293305),
        (0.999, 7.600402),
        (1 - 1e-5, 12.206068),
    ],
)
def test_distance_from_the_middle_is_twice_artanh(radius, expected):
    actual = float(distance(point(0, 0), point(radius, 0)))
    assert actual == pytest.approx(expected, abs=1e-6)
    assert actual == pytest.approx(2 * math.atanh(radius), rel=1e-10)


def test_distance_of_points_at_half_radius():
    right, top = point(0.5, 0), point(0, 0.5)
    assert float(distance(right, top)) == pytest.approx(1.680700, abs=1e-6)
    assert float(distance(right, -right)) == pytest.approx(2.197225, abs=1e-6)


def test_gradient_is_equation_5_and_its_riemannian_form_equation_9():
    theta = point(0.5, 0).requires_grad_()
    distance(theta, point(0, 0.5)).backward()
    np.testing.assert_allclose(theta.grad, [2.286648, -1.371989], atol=1e-6)
    scaled = theta.grad * room(theta.detach()) ** 2 / 4  # the inverse metric
    np.testing.assert_allclose(scaled, [0.321560, -0.192936], atol=1e-6)


# The values for clipping to radius 1 with 1e-6 added in two places are those of the authors' code,
# whose epsilons bend the distance; we clip to 1 - 1e-5 and need none.
@pytest.mark.parametrize(
    ("cosine", "expected"),
    [
        (1.0, 0.0),
        (0.99, 19.113818),
        (0.9, 21.416403),
        (0.5, 23.025841),
        (0.0, 23.718988),
        (-1.0, 24.412135),
    ],
)
def test_distance_of_clipped_points_depends_on_their_angle(cosine, expected):
    angle = math.acos(cosine)
    one, other = RADIUS * point(1, 0), RADIUS * point(math.cos(angle), math.sin(angle))
    assert float(distance(one, other)) == pytest.approx(expected, abs=1e-6)


def smoothed_distance(one, other, epsilon=1e-6):
    """Eq. 4 as the authors' code computes it, with ε beside the product and under the root.

    It is finite on the sphere itself, but equal points are √ε apart, and since ε hides the product
    near the sphere, all clipped texts rank as by cosine.
    """
    product = (1 - one.square().sum(-1)) * (1 - other.square().sum(-1)) + epsilon  # (...,)
    gamma = 1 + 2 * (one - other).square().sum(-1) / product
    return (gamma + (gamma.square() - 1 + epsilon).sqrt()).log()  # (...,)


@pytest.mark.parametrize(
    ("cosine", "expected"),
    [
        (1.0, 0.001),
        (0.99, 11.289807),
        (0.9, 13.592370),
        (0.5, 15.201805),
        (0.0, 15.894952),
        (-1.0, 16.588099),
    ],
)
def test_distance_of_the_authors_code_on_the_sphere(cosine, expected):
    angle = math.acos(cosine)
    one, other = point(1, 0), point(math.cos(angle), math.sin(angle))
    assert float(smoothed_distance(one, other)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("right", "wrong", "loss"), [(0.5, 2.0, 0.0), (1.5, 1.0, 1.5)])
def test_hinge_on_fresh_scores(right, wrong, loss):
    score = ScoreHead("linear", -1)
    good, bad = score(torch.tensor(right)), score(torch.tensor(wrong))
    assert float((1 - good + bad).clamp_min(0).detach()) == pytest.approx(loss)


def with_waves(kind, phase=0.2):
    """A model of 5 words with 3 values each, and weights from closed forms, in float64."""
    config = kind.Config(dim=4)
    model = kind(config, words_of(wave((5, 3), 0.5))).double()
    with torch.no_grad():
        model.words.weight.copy_(wave((5, 3), 0.5))
        model.bag.projection.weight.copy_(wave((4, 3), phase))
        model.bag.projection.bias.copy_(wave((4,), 0.9))
    return model


def by_equations(text, phase=0.2):
    z, w, b = wave((5, 3), 0.5).numpy(), wave((4, 3), phase).numpy(), wave((4,), 0.9).numpy()
    y = sum(np.maximum(w @ z[word] + b, 0) for word in text)  # eq. 1, 2
    return y / max(1, np.linalg.norm(y)) * (1 if np.linalg.norm(y) < 1 else RADIUS)


def test_forward_is_the_equations_word_by_word():
    queries, answers = [[1], [2, 3], [1, 2, 3, 4]], [[4], [4, 4], [3, 1]]
    expected = []
    for query, answer in zip(queries, answers, strict=True):
        q, a = by_equations(query), by_equations(answer)
        inner = 1 + 2 * ((q - a) @ (q - a)) / ((1 - q @ q) * (1 - a @ a))  # eq. 4
        expected.append(-np.arccosh(inner))
    actual = with_waves(HyperQA)(texts(*queries), texts(*answers)).detach()
    np.testing.assert_allclose(actual, expected, atol=1e-5)  # the clip is 1e-6 wider


def test_order_of_words_changes_nothing():
    model = with_waves(HyperQA)
    forward = model(texts([1, 2, 3, 3]), texts([4, 1]))
    torch.testing.assert_close(model(texts([3, 1, 3, 2]), texts([1, 4])), forward)


def test_a_clipped_text_written_twice_is_the_same_text():
    model = with_waves(HyperQA)
    assert model.total(texts([1, 2, 3, 4])).norm() > 1
    once, twice = texts([1, 2, 3, 4]), texts([1, 2, 3, 4, 1, 2, 3, 4])
    torch.testing.assert_close(model(once, texts([3, 2])), model(twice, texts([3, 2])))


def test_bias_of_the_score_gets_no_gradient_from_a_pairwise_loss():
    model = with_waves(HyperQA)
    good, bad = model(texts([1, 2]), texts([3])), model(texts([1, 2]), texts([4]))
    (1 - good + bad).sum().backward()
    assert float(model.head.linear.bias.grad) == 0
    assert float(model.head.linear.weight.grad) != 0


def test_clipped_texts_rank_as_cosine_ranks_them():
    rng = np.random.default_rng(5)
    vectors = torch.tensor(rng.normal(size=(40, 6)) * 5, dtype=torch.float32)
    hyper, cosine, euclid = (
        k(k.Config(dim=6), words_of(vectors)) for k in (HyperQA, CosineQA, EuclidQA)
    )
    query, pool = texts(rng.integers(1, 40, 5)), texts(*rng.integers(1, 40, (100, 7)))
    assert (hyper.total(pool).norm(dim=1) > 1).all()
    orders = [
        model.similarity(model.encode(query), model.encode(pool)).argsort(descending=True).tolist()
        for model in (hyper, cosine, euclid)
    ]
    assert orders[0] == orders[1] == orders[2]


@pytest.mark.parametrize(
    ("kind", "dim", "count"),
    [
        (HyperQA, 300, 90_302),  # "90K" in tables 2, 3 and 5
        (CosineQA, 300, 90_302),
        (EuclidQA, 300, 90_302),
        (HyperQA, 150, 45_152),  # "45K" in table 4
        (HyperQAConcat, 150, 45_452),
    ],
)
def test_parameter_counts(kind, dim, count):
    model = kind(kind.Config(dim=dim), words_of(torch.zeros(5, 300)))
    assert model.trainable_parameters() == count
