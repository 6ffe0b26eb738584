"""Attentive pooling and compare-aggregate against slow and plain versions of themselves."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from askonce.models.base import EmbeddingInit
from askonce.models.rivals.words.attentive_pooling import ApBiLstm, ApCnn
from askonce.models.rivals.words.compare_aggregate import CompareAggregate
from askonce.text.batch import Batch, TokenIds

SIZE, DIM = 12, 5


def words() -> EmbeddingInit:
    return EmbeddingInit(
        vectors=torch.randn(SIZE, DIM, generator=torch.Generator().manual_seed(4)),
        document_frequency=torch.ones(SIZE, dtype=torch.long),
        documents=SIZE,
        stop=torch.zeros(SIZE, dtype=torch.bool),
    )


def batch(*texts: list[int]) -> Batch:
    return Batch([TokenIds(np.array(text, np.int64), np.array([], np.int64)) for text in texts])


def attentive(kind: type, **changes: object) -> ApCnn | ApBiLstm:
    torch.manual_seed(2)
    model = kind(kind.Config(**{"filters" if kind is ApCnn else "hidden": 4}, **changes), words())
    torch.nn.init.normal_(model.attention.of_query.weight)
    return model.eval()


def aggregating(**changes: object) -> CompareAggregate:
    torch.manual_seed(2)
    return CompareAggregate(CompareAggregate.Config(dim=4, **changes), words()).eval()


def vectors(model: torch.nn.Module, text: list[int]) -> Tensor:
    return model.words.weight[text] if text else torch.zeros(1, DIM)


def plain_compare_aggregate(model: CompareAggregate, query: list[int], answer: list[int]) -> float:
    """The score of one pair, word by word and window by window."""

    def project(text: list[int]) -> Tensor:
        gate, value = model.projection(vectors(model, text)).chunk(2, dim=1)
        return gate.sigmoid() * value.tanh()

    sought = torch.cat([project(query), torch.zeros(1, 4)])
    compared = torch.stack([a * ((sought @ a).softmax(0) @ sought) for a in project(answer)])
    greatest = []
    for width, filters in enumerate(model.filters, start=1):
        framed = F.pad(compared, (0, 0, (width - 1) // 2, width // 2))
        windows = [framed[t : t + width].flatten() for t in range(len(compared))]
        values = [filters.filters(window).relu() for window in windows]
        greatest.append(torch.stack(values).amax(0))
    return model.output(model.hidden(torch.cat(greatest)).tanh()).item()


def plain_attentive_pooling(model: ApCnn, query: list[int], answer: list[int]) -> float:
    """The score of one pair from the whole matrix G."""
    q, a = (model.convolution(vectors(model, text)[None])[0] for text in (query, answer))
    together = (q @ model.attention.of_query.weight.T @ a.T).tanh()
    r_q = together.amax(1).softmax(0) @ q
    r_a = together.amax(0).softmax(0) @ a
    return F.cosine_similarity(r_q, r_a, dim=0).item()


texts = st.lists(st.integers(2, SIZE - 1), max_size=9)
pairs = st.lists(st.tuples(texts, texts), min_size=1, max_size=6)


@given(pairs)
@settings(max_examples=25)
def test_compare_aggregate_is_its_plain_version(pairs):
    model = aggregating()
    with torch.inference_mode():
        scores = model(batch(*(q for q, _ in pairs)), batch(*(a for _, a in pairs)))
        expected = [plain_compare_aggregate(model, query, answer) for query, answer in pairs]
    np.testing.assert_allclose(scores, expected, atol=2e-6)


codes = st.lists(st.one_of(st.integers(2, SIZE - 1), st.integers(-4, -1)), max_size=9)


@given(codes, st.lists(codes, min_size=1, max_size=6), st.integers(1, 5))
@settings(max_examples=40)
def test_compare_aggregate_by_distinct_words_is_pair_by_pair(query, answers, widest):
    model = aggregating(widest=widest, overlap=True)
    model.overlap.stop[5:8] = True
    model.overlap.mean.fill_(0.1)
    own, others = batch(query), batch(*answers)
    with torch.inference_mode():
        expected = model(batch(*[query] * len(answers)), others)
        model.prepare()
        torch.testing.assert_close(model(batch(*[query] * len(answers)), others), expected)
        scores = model.score_many(own.posts[0], others.posts)
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_compare_aggregate_drops_its_table_of_words_when_weights_change():
    model, other = aggregating(), aggregating(dropout=0.1)
    model.prepare()
    assert model.scores_many
    model.load_state_dict(other.state_dict())
    assert not model.scores_many
    model.prepare()
    assert not model.train().scores_many
    model.prepare()  # not while training
    assert not model.scores_many
    for changes in ({"flags": True}, {"cosine": True}):  # features that need both whole texts
        model = aggregating(**changes)
        model.prepare()
        assert not model.scores_many


@given(pairs)
@settings(max_examples=25)
def test_attentive_pooling_is_its_plain_version(pairs):
    model = attentive(ApCnn)
    with torch.inference_mode():
        scores = model(batch(*(q for q, _ in pairs)), batch(*(a for _, a in pairs)))
        expected = [plain_attentive_pooling(model, query, answer) for query, answer in pairs]
    np.testing.assert_allclose(scores, expected, atol=5e-6)


def test_attentive_pooling_with_both_sides_exchanged_and_u_turned_is_the_same():
    model, turned = attentive(ApBiLstm), attentive(ApBiLstm)
    with torch.no_grad():
        turned.attention.of_query.weight.copy_(model.attention.of_query.weight.T)
    one, other = batch([2, 3], [4, 5, 6, 7]), batch([3, 8, 2], [5])
    torch.testing.assert_close(model(one, other), turned(other, one))


@pytest.mark.parametrize("kind", [ApCnn, ApBiLstm])
def test_attention_is_spent_on_written_words_only(kind):
    model = attentive(kind, flags=True)
    for weights in model.inspect(batch([2, 3], [4, 5, 6, 7]), batch([3, 8, 2], [5])):
        torch.testing.assert_close(weights.values.sum(1), torch.ones(2))
        padding = torch.tensor(
            [[False, False, True, True], [False] * 4]
            if weights.side == "query"
            else [[False] * 3, [False, True, True]]
        )
        assert (weights.values[padding] == 0).all()
        assert (weights.values[~padding] > 0).all()


def test_a_pool_without_attention_learns_one_from_the_start():
    # U starts at zero, where all words tie: its gradient must not be zero too
    model = ApCnn(ApCnn.Config(filters=4), words())
    model(batch([2, 3, 4]), batch([5, 6, 7, 8])).sum().backward()
    assert model.attention.of_query.weight.grad.abs().max() > 1e-6


def test_words_that_match_nothing_lean_on_the_zero_vector():
    model = aggregating()
    query, answer = batch([2, 3]), batch([4, 5, 6])
    with torch.no_grad():
        before = model.inspect(query, answer)[0].values.sum()
        # projected words all alike and long: their products leave nothing to the zero vector
        model.projection.weight.zero_()
        model.projection.bias.fill_(9.0)
        after = model.inspect(query, answer)[0].values.sum()
    assert before < 0.9
    assert after == pytest.approx(2 * np.e**4 / (2 * np.e**4 + 1), abs=1e-3)


def test_an_aggregate_reads_the_candidate_alone_when_the_query_vanishes():
    model = aggregating()
    with torch.no_grad():
        model.projection.bias.zero_()  # so that an empty text projects to zero
    scores = model(batch([], []), batch([2, 3, 4, 5, 6, 7], [8, 9, 8, 9]))
    torch.testing.assert_close(scores[0], scores[1])  # all comparisons are zero


@pytest.mark.parametrize("feature", ["flags", "overlap"])
@pytest.mark.parametrize("kind", [ApCnn, ApBiLstm, CompareAggregate])
def test_flags_and_overlap_reach_the_score(kind, feature):
    model = aggregating if kind is CompareAggregate else partial(attentive, kind)
    model = model(**{feature: True})
    with torch.no_grad():  # one vector for two words: only the feature tells them apart
        model.words.weight[3] = model.words.weight[2]
        if feature == "overlap" and kind is not CompareAggregate:
            model.lift.linear.weight.fill_(1.0)  # before training it adds nothing
    shared, other = model(batch([2, 5], [2, 5]), batch([2, 6], [3, 6]))
    assert (shared - other).abs() > 1e-4


def test_compare_aggregate_parameters_by_hand():
    model = CompareAggregate(CompareAggregate.Config(overlap=True, flags=True), words())
    projection = 2 * 150 * (DIM + 1 + 1)
    filters = sum(150 * (150 * width + 1) for width in (1, 2, 3, 4, 5))
    assert model.trainable_parameters() == projection + filters + 150 * 751 + 150 + 4 + 1


@pytest.mark.parametrize("kind", [ApCnn, ApBiLstm, CompareAggregate])
def test_gradients_are_those_of_the_score(kind):
    changes = {"overlap": True, "train_words": True}
    model = aggregating(**changes) if kind is CompareAggregate else attentive(kind, **changes)
    model = model.double()
    query, answer = batch([2, 3], [4, 5, 6, 7], []), batch([3, 8, 2, 9, 10], [5], [6, 2])
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}

    def score(*values: Tensor) -> Tensor:
        changed = dict(zip(trained, values, strict=True))
        return torch.func.functional_call(model, changed, (query, answer))

    start = tuple(p.detach().clone().requires_grad_() for p in trained.values())
    assert torch.autograd.gradcheck(score, start, fast_mode=True)
