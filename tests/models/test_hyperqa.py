"""HyperQA and its variants: summed words, the table, scores, keys, gradients."""

import numpy as np
import pytest
import torch

from askonce.models.base import EmbeddingInit, Encoder
from askonce.models.hyperqa import CosineQA, EuclidQA, HyperQA, HyperQAConcat
from askonce.models.layers.poincare import RADIUS, clip_to_ball
from askonce.text.batch import Batch, TokenIds

NOTHING = np.array([], dtype=np.int64)
FAMILY = [HyperQA, CosineQA, EuclidQA, HyperQAConcat]
ENCODERS = FAMILY[:3]


@pytest.fixture(scope="module")
def words() -> EmbeddingInit:
    vectors = torch.randn(50, 6, generator=torch.Generator().manual_seed(1))
    return EmbeddingInit(vectors, torch.ones(50, dtype=torch.long), 10, torch.zeros(50).bool())


def texts(*rows) -> Batch:
    return Batch([TokenIds(NOTHING, np.array(row, dtype=np.int64)) for row in rows])


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


def test_distinct_words_sum_as_each_occurrence_does(words):
    model = build(HyperQA, words)
    view = QUERIES.text
    projected = model.bag.projection(model.words.weight[view.ids]).relu()  # (B, T, d)
    total = (projected * view.real.unsqueeze(-1)).sum(1)
    torch.testing.assert_close(model.total(QUERIES), total)


def test_an_empty_text_is_the_middle_of_the_ball(words):
    for prepared in (False, True):
        model = build(HyperQA, words).eval()
        if prepared:
            model.prepare()
        assert (model.encode(QUERIES)[2] == 0).all()
        assert (model.encode(texts([], [])) == 0).all()


@pytest.mark.parametrize("kind", FAMILY)
def test_the_table_changes_no_score(words, kind, monkeypatch):
    monkeypatch.setattr("askonce.models.layers.words.ROWS", 7)  # the last part is not full
    model = build(kind, words).eval()
    before = model(QUERIES, ANSWERS)
    model.prepare()
    assert model.bag.table.rows.shape == (50, 8)
    torch.testing.assert_close(model(QUERIES, ANSWERS), before, atol=1e-5, rtol=1e-5)


def test_the_table_lives_as_long_as_the_weights_it_was_made_of(words):
    model = build(HyperQA, words)
    keys = set(model.state_dict())
    model.prepare()
    assert model.bag.table.rows is None  # still in training
    model.eval().prepare()
    assert model.bag.table.rows is not None
    assert set(model.state_dict()) == keys
    assert model.double().bag.table.rows.dtype == torch.float64
    model.train()
    assert model.bag.table.rows is None
    model.eval().prepare()
    model.load_state_dict(model.state_dict())
    assert model.bag.table.rows is None


@pytest.mark.parametrize("kind", FAMILY)
def test_the_padding_row_may_hold_anything(words, kind):
    vectors = words.vectors.clone()
    vectors[0] = torch.nan
    model = build(
        kind, EmbeddingInit(vectors, words.document_frequency, words.documents, words.stop)
    )
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
    size = min(dim, 6)
    vectors = model.total(texts([5], [9]))
    torch.testing.assert_close(vectors[:, :size], words.vectors[[5, 9], :size].relu())
    assert (model.total(texts(range(1, 50))) > 0).all()


def test_score_heads():
    apart = torch.tensor([0.0, 0.5, 2.0])
    words = EmbeddingInit(torch.zeros(3, 2), torch.ones(3), 1, torch.zeros(3).bool())
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


def test_dropout_acts_in_training_only(words):
    model = build(HyperQA, words, dropout=0.5)
    assert not torch.equal(model.total(ANSWERS), model.total(ANSWERS))
    model.eval()
    assert torch.equal(model.total(ANSWERS), model.total(ANSWERS))


def test_concat_starts_as_hyperqa_and_learns_from_both_sums(words):
    concat = HyperQAConcat(HyperQAConcat.Config(dim=6), words)
    hyper = HyperQA(HyperQA.Config(dim=6), words)
    scores = concat(QUERIES, ANSWERS)
    torch.testing.assert_close(scores, hyper(QUERIES, ANSWERS))
    scores.sum().backward()
    one, other = concat.total(QUERIES).sum(0), concat.total(ANSWERS).sum(0)
    assert one.norm() > len(QUERIES)  # not clipped to the ball
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
    model = build(kind, words).double()
    model.words.weight.data.mul_(0.01)  # so that sums lie inside of the ball
    parameters = [p for p in model.parameters() if p.requires_grad]

    def score(*_):
        return model(texts([3, 4], [5]), texts([6, 6], [9, 10]))

    assert torch.autograd.gradcheck(score, parameters)
