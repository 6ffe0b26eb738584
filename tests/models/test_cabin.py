"""CABIN whole: against its equations word by word, its ablations, its language models."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from askonce.errors import ConfigError
from askonce.models.base import EmbeddingInit
from askonce.models.cabin import Cabin, InteractiveReader, context_jump
from askonce.models.language_model import LanguageModel
from askonce.models.layers.functional import direction_ends
from askonce.text.batch import Batch, TokenIds

QUERIES = [[2, 3, 4], [5], [6, 7, 8, 9, 3, -44]]
CANDIDATES = [[9, 3, -44, 5, 6], [3, 2], []]
ABLATIONS = [{}, {"jump": False}, {"attention": False}]


def words(dim: int = 6) -> EmbeddingInit:
    torch.manual_seed(1)
    zeros = torch.zeros(12, dtype=torch.long)
    return EmbeddingInit(torch.randn(12, dim), zeros, 3, zeros.bool())


def batch(texts: list[list[int]]) -> Batch:
    empty = np.array([], dtype=np.int64)
    return Batch([TokenIds(empty, np.array(text, dtype=np.int64)) for text in texts])


def tiny(**changes: bool) -> Cabin:
    torch.manual_seed(2)
    model = Cabin(Cabin.Config(hidden=4, similarity=5, dropout=0.0, **changes), words())
    with torch.no_grad():
        for value in model.parameters():
            value.copy_(torch.randn_like(value))
    return model.double()


def by_the_paper(reader: InteractiveReader, own: Tensor, partner: Tensor) -> Tensor:
    """The vector of one side from its states (T, 2H), one word at a time."""
    count, half, nothing = len(own), own.shape[1] // 2, torch.zeros(own.shape[1] // 2)
    last = torch.cat([partner[-1, :half], partner[0, half:]])
    jumps = [
        torch.cat(
            [
                own[t, :half] * (own[t + 1, half:] if t + 1 < count else nothing),
                own[t, half:] * (own[t - 1, :half] if t else nothing),
            ]
        )
        for t in range(count)
    ]
    weights = reader.attention
    if weights is None:
        alpha = e = torch.full((count,), 1 / count, dtype=own.dtype)
    elif weights.g is None:
        alpha = torch.stack([(weights.u @ h + weights.v @ last).tanh() for h in own]).softmax(0)
        scores = [(weights.q1 @ torch.outer(h, last)).tanh() @ weights.q2 for h in own]
        e = torch.stack(scores).softmax(0)
    else:
        terms = [
            weights.u @ h + weights.v @ last + weights.g @ j
            for h, j in zip(own, jumps, strict=True)
        ]
        alpha = torch.stack(terms).tanh().softmax(0)
        scores = [(weights.q1 @ torch.outer(j, last)).tanh() @ weights.q2 for j in jumps]
        e = torch.stack(scores).softmax(0)
    fused = sum(a * h for a, h in zip(alpha, own, strict=True)) * sum(
        a * h for a, h in zip(e, own, strict=True)
    )
    return sum((reader.fuse.weight @ (h * fused) + reader.fuse.bias).tanh() for h in own) / count


@pytest.mark.parametrize("changes", ABLATIONS, ids=["full", "no jump", "no attention"])
def test_score_is_the_log_odds_of_the_equations(changes):
    model = tiny(**changes)
    query, candidate = batch(QUERIES), batch(CANDIDATES)
    scores = model(query, candidate)
    for row in range(3):
        asked, answered = (
            reader.recurrence(model.words(side.text), side.text.lengths)[row]
            for reader, side in ((model.query_reader, query), (model.candidate_reader, candidate))
        )
        asked = asked[: query.text.lengths[row]]
        answered = answered[: candidate.text.lengths[row]]
        vectors = [
            by_the_paper(model.query_reader, asked, answered),
            by_the_paper(model.candidate_reader, answered, asked),
        ]
        probability = model.classes(model.similarity(torch.cat(vectors)).tanh()).softmax(0)
        torch.testing.assert_close(scores[row], (probability[1] / probability[0]).log())


def normalised(vector: Tensor) -> Tensor:
    return (vector - vector.mean()) / (vector.var(correction=0) + 1e-5).sqrt()


def test_normalise_is_a_layer_norm_of_states_and_before_both_products():
    model = tiny(normalise=True)
    query, candidate = batch(QUERIES[:1]), batch(CANDIDATES[:1])
    own, partner = model.read(query, "query"), model.read(candidate, "candidate")
    reader, [hidden] = model.query_reader, own["hidden"]
    [states] = reader.recurrence(model.words(query.text), query.text.lengths)
    torch.testing.assert_close(hidden, torch.stack([normalised(state) for state in states]))
    alpha, e = (weights[0] for weights in reader.weights(own, partner))
    fused = normalised(alpha @ hidden) * normalised(e @ hidden)
    each = [(reader.fuse(normalised(h * fused))).tanh() for h in hidden]
    torch.testing.assert_close(reader(own, partner)[0], torch.stack(each).mean(0))


def test_compare_adds_product_and_difference_to_the_last_layer():
    model = tiny(compare=True)
    states = model.read(batch(QUERIES), "query"), model.read(batch(CANDIDATES), "candidate")
    asked, answered = model.query_reader(*states), model.candidate_reader(*states[::-1])
    inputs = torch.cat([asked, answered, asked * answered, (asked - answered).abs()], 1)
    wrong, right = model.classes(model.similarity(inputs).tanh()).unbind(1)
    torch.testing.assert_close(model(batch(QUERIES), batch(CANDIDATES)), right - wrong)


def dependence(**changes: bool) -> float:
    """How much the answer's vector changes with the question, before training."""
    torch.manual_seed(3)
    model = Cabin(Cabin.Config(hidden=20, dropout=0.0, **changes), words(20)).eval()
    asked = model.read(batch(QUERIES), "query")
    answer = model.read(batch([CANDIDATES[0]] * 3), "candidate")
    with torch.no_grad():
        vectors = model.candidate_reader(answer, asked)  # (3, D), of one answer
    return float((vectors - vectors.mean(0)).norm() / vectors.norm())


def test_normalise_lets_the_question_change_the_answers_vector():
    assert dependence() < 1e-6
    assert dependence(normalise=True) > 1e-3


def test_jump_and_sentence_vector_stop_at_the_last_word():
    hidden = torch.arange(1.0, 17).reshape(1, 4, 4)
    padded = torch.cat([hidden, torch.zeros(1, 3, 4)], dim=1)
    torch.testing.assert_close(context_jump(padded)[:, :4], context_jump(hidden))
    assert direction_ends(padded, torch.tensor([4])).tolist() == [[13, 14, 3, 4]]


@given(
    length=st.integers(1, 30),
    partner=st.integers(1, 5),
    scale=st.floats(0.1, 100),
    seed=st.integers(0, 99),
)
def test_weights_sum_to_one_and_attention_is_bounded(length, partner, scale, seed):
    model = tiny()
    model.words.weight.data.mul_(scale)
    generator = np.random.default_rng(seed)
    texts = [generator.integers(2, 12, n).tolist() for n in (length, partner)]
    with torch.no_grad():
        actual = model.inspect(batch(texts[:1]), batch(texts[1:]))
    for weights in actual:
        torch.testing.assert_close(weights.values.sum(1), torch.ones(1, dtype=torch.double))
    most = math.e**2 / (math.e**2 + length - 1)
    assert actual[0].values.max() <= most + 1e-9


@pytest.mark.parametrize("changes", [{}, {"flags": True}, {"attention": False}])
def test_inspect_names_both_weights_of_both_sides(changes):
    actual = tiny(**changes).inspect(batch(QUERIES), batch(CANDIDATES))
    assert [(weights.side, weights.kind) for weights in actual] == [
        ("query", "attention"),
        ("query", "similarity"),
        ("candidate", "attention"),
        ("candidate", "similarity"),
    ]
    for weights in actual:
        view = batch(QUERIES if weights.side == "query" else CANDIDATES).text
        assert weights.values.shape == view.mask.shape
        assert (weights.values[~view.mask] == 0).all()


@pytest.mark.parametrize("changes", ABLATIONS)
@pytest.mark.parametrize("freeze", [True, False])
def test_every_trainable_parameter_gets_a_finite_gradient(changes, freeze):
    model = tiny(**changes, freeze_lm=freeze)
    model(batch(QUERIES), batch(CANDIDATES)).sum().backward()
    for name, value in model.named_parameters():
        frozen = name.startswith("words.") or (freeze and "recurrence" in name)
        assert value.requires_grad is not frozen, name
        assert frozen or (value.grad is not None and value.grad.isfinite().all()), name


def test_overlap_features_join_the_last_layer():
    model = tiny(overlap=True)
    assert model.similarity.in_features == tiny().similarity.in_features + 4
    states = model.read(batch(QUERIES), "query"), model.read(batch(CANDIDATES), "candidate")
    plain, shared = (model.compare(*states, torch.full((3, 4), x).double()) for x in (0.0, 0.5))
    assert (plain != shared).all()


def test_a_matcher_reads_as_its_language_models_do():
    model = tiny().float()
    vocabulary = words()
    asking, answering = (LanguageModel(vocabulary, hidden=4) for _ in range(2))
    model.load_language_models(asking, answering)
    view = batch(QUERIES).text
    for side, language in (("query", asking), ("candidate", answering)):
        hidden = model.states(view, model.words(view), side)["hidden"]
        expected = language.recurrence(model.words(view), view.lengths)
        assert (hidden == expected).all()
        assert not hidden.requires_grad
    first, second = (m.recurrence.leftward.weight_hh_l1 for m in (asking, answering))
    assert (first != second).any()


@pytest.mark.parametrize(
    ("changes", "language", "message"),
    [
        ({"flags": True}, {}, "flags = false"),
        ({}, {"hidden": 5}, r"query language model has .* \(6, 5, 2\), but cabin has \(6, 4, 2\)"),
        ({}, {"layers": 1}, r"\(6, 4, 1\)"),
        ({}, {"dim": 7}, r"\(7, 4, 2\)"),
    ],
)
def test_a_language_model_that_does_not_fit_is_refused(changes, language, message):
    sizes = {"hidden": 4, **language}
    other = LanguageModel(words(sizes.pop("dim", 6)), **sizes)
    with pytest.raises(ConfigError, match=message):
        tiny(**changes).load_language_models(other, other)
