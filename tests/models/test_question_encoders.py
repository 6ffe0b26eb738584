"""Question encoders: known words, word weights, fields, odd posts, gates to look into."""

import numpy as np
import pytest
import torch
from torch import nn

from askonce.config import settings as read_settings
from askonce.errors import ConfigError
from askonce.models import MODELS
from askonce.models.base import EmbeddingInit
from askonce.models.question_encoders import known_words, smooth_idf
from askonce.text.batch import Batch, TokenIds, View

NAMES = ["rcnn", "lstm", "gru", "cnn"]


def numbers(title=(), body=()):
    return TokenIds(np.array(title, dtype=np.int64), np.array(body, dtype=np.int64))


@pytest.fixture
def words():
    torch.manual_seed(1)
    stop = torch.zeros(30, dtype=torch.bool)
    return EmbeddingInit(torch.randn(30, 6), torch.arange(30) % 7, 20, stop)


def make(name, words, **values):
    torch.manual_seed(2)
    kind = MODELS[name]
    model = kind(read_settings(kind.Config, {"dim": 5, **values}), words)
    for parameter in model.layers.parameters():
        nn.init.uniform_(parameter, -1, 1)
    return model.eval()


# --- what is around the layers ---


def test_known_words_close_ranks():
    view = View.of([np.array([5, -9, 6, 1, 7]), np.array([-3]), np.array([], int), np.array([8])])
    known, keep = known_words(view, limit=2)
    assert known.codes.tolist() == [[5, 6], [0, 0], [0, 0], [8, 0]]
    assert known.lengths.tolist() == [2, 1, 1, 1]
    assert keep.tolist()[0] == [True, False, True, False, False]
    assert not keep[1:3].any()


def test_idf_is_sklearns():
    texts = ["a b c", "a b", "a d d", "a"]
    from sklearn.feature_extraction.text import TfidfVectorizer

    theirs = TfidfVectorizer(token_pattern=r"\w").fit(texts)
    counts = torch.tensor([0, 0, 4, 2, 1, 1, 0])  # padding, unknown, a b c d, a word without texts
    idf = smooth_idf(EmbeddingInit(torch.zeros(7, 1), counts, 4, torch.zeros(7, dtype=torch.bool)))
    np.testing.assert_allclose(idf[2:6], theirs.idf_)
    np.testing.assert_allclose(idf[6], theirs.idf_.mean() / 4)


def test_idf_without_counts_weighs_all_alike():
    idf = smooth_idf(
        EmbeddingInit(torch.zeros(4, 1), torch.zeros(4), 0, torch.zeros(4, dtype=torch.bool))
    )
    assert idf.tolist() == [1.0] * 4


@pytest.mark.parametrize("gate", ["vector", "scalar"])
@pytest.mark.parametrize("fields", ["both", "title", "body"])
def test_a_few_words_are_read_as_many(gate, fields, words, monkeypatch):
    model = make("rcnn", words, gate=gate, fields=fields, body_words=3)
    model.prepare()
    posts = [([5, -3, 6], []), ([], [7, 8, 9, 10, 11]), ([], []), ([12], [13]), ([-2], [5, 1, 5])]
    for batch in (posts, posts[:1], posts[2:3]):
        few = Batch([numbers(title, body) for title, body in batch])
        with torch.inference_mode():
            by_numpy = model.encode(few)
            with monkeypatch.context() as patch:
                patch.setattr("askonce.models.rcnn.FEW_WORDS", -1)
                torch.testing.assert_close(by_numpy, model.encode(few))


def test_words_that_are_known_follow_the_weights(words, monkeypatch):
    monkeypatch.setattr("askonce.models.layers.gated_convolution.KNOWN_VALUES", 100)
    model, other = make("rcnn", words), make("rcnn", words)
    batches = [Batch([numbers([first, first + 1], [])]) for first in (5, 7, 5, 9)]
    with torch.no_grad():
        for parameter in other.parameters():
            parameter += 0.1
        for weights in (model.state_dict(), other.state_dict()):
            model.load_state_dict(weights)
            expected = [model.encode(batch) for batch in batches]
            model.prepare()
            torch.testing.assert_close([model.encode(batch) for batch in batches], expected)
        model.train()
        model.layers[0].bias += 0.1
        model.eval()
        assert not torch.allclose(model.encode(batches[0]), expected[0])


@pytest.mark.parametrize("name", NAMES)
def test_unknown_words_are_left_out(name, words):
    model = make(name, words)
    clean = Batch([numbers([5, 6], [7, 8, 9])])
    noisy = Batch([numbers([-4, 5, 6, -5], [7, -1, -2, 8, 9])])
    torch.testing.assert_close(model.encode(clean), model.encode(noisy))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pooling", ["last", "mean", "max"])
def test_both_fields_are_averaged_and_an_absent_one_does_not_count(name, pooling, words):
    both, title, body = (
        make(name, words, pooling=pooling, fields=fields) for fields in ("both", "title", "body")
    )
    full = Batch([numbers([5, 6], [7, 8, 9])])
    torch.testing.assert_close(both.encode(full), (title.encode(full) + body.encode(full)) / 2)
    for absent in ([], [-7]):
        torch.testing.assert_close(
            both.encode(Batch([numbers(absent, [7, 8, 9])])), body.encode(full)
        )
        torch.testing.assert_close(
            both.encode(Batch([numbers([5, 6], absent)])), title.encode(full)
        )
    assert both.encode(Batch([numbers([], [-7])])).isfinite().all()


def test_states_are_normalised_before_pooling(words):
    batch = Batch([numbers([5, 6, 7])])
    view = batch.title
    for name in NAMES:
        normal = make(name, words, pooling="mean", fields="title")
        states = nn.functional.normalize(normal.states(view)[0], dim=-1)
        torch.testing.assert_close(normal.encode(batch), states.mean(1))


def test_a_body_is_cut(words):
    long, short = Batch([numbers([5], [7, -1, 8, 9])]), Batch([numbers([5], [7, 8])])
    cut, whole = make("rcnn", words, body_words=2), make("rcnn", words, body_words=0)
    torch.testing.assert_close(cut.encode(long), cut.encode(short))
    assert not torch.allclose(whole.encode(long), whole.encode(short))


def test_idf_scales_the_word_vectors(words):
    view = View.of([np.array([5, 7])])  # df 5 and 0
    model = make("rcnn", words)
    ratio = model.inputs(view) / model.words(view)
    torch.testing.assert_close(ratio[0, :, 0], smooth_idf(words)[[5, 7]].float())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("values", [{}, {"depth": 2, "pooling": "mean"}, {"pooling": "max"}])
def test_awkward_posts(name, values, words):
    with torch.no_grad():
        words.vectors[0] = 1e3
    model = make(name, words, **values)
    long = np.random.default_rng(0).integers(2, 30, 90)
    posts = [
        numbers(),
        numbers([5]),
        numbers([-5], [-6]),
        numbers([5, 6], long),
        numbers([], [9, 9]),
    ]
    together = model.encode(Batch(posts))
    alone = torch.cat([model.encode(Batch([post])) for post in posts])
    torch.testing.assert_close(together, alone)
    model.train()(Batch(posts), Batch(posts[::-1])).sum().backward()
    for parameter_name, parameter in model.layers.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name


@pytest.mark.parametrize("name", NAMES)
def test_five_thousand_words(name, words):
    model = make(name, words, body_words=0)
    batch = Batch([numbers([5], np.random.default_rng(0).integers(2, 30, 5000)), numbers([6])])
    with torch.inference_mode():
        vectors = model.encode(batch)
        torch.testing.assert_close(vectors[1:], model.encode(Batch(batch.posts[1:])))
    assert vectors.isfinite().all()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *((name, {}) for name in NAMES),
        ("rcnn", {"gate": "scalar", "order": 3}),
        ("rcnn", {"gate": "constant", "pooling": "mean"}),
        ("gru", {"depth": 2}),
    ],
)
def test_learns_twenty_pairs(name, values, words):
    model = make(name, words, dim=16, dropout=0.0, **values).train()
    generator = np.random.default_rng(0)
    queries, answers = (
        Batch(
            [numbers(generator.integers(2, 30, 4), generator.integers(2, 30, 6)) for _ in range(20)]
        )
        for _ in range(2)
    )
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(150):
        scores = model.similarity(model.encode(queries)[:, None], model.encode(answers))
        loss = nn.functional.cross_entropy(20 * scores, torch.arange(20))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if (scores.argmax(1) == torch.arange(20)).all():
            break
    else:
        pytest.fail("some queries still prefer another answer")


# --- looking inside ---


def test_inspect_gives_the_share_of_each_word(words):
    model = make("rcnn", words)
    query = Batch([numbers([5, -3, 6], [7]), numbers([8])])
    weights = model.inspect(query, query)
    assert [(w.side, w.view) for w in weights] == [
        *((side, view) for side in ("query", "candidate") for view in ("title", "body"))
    ]
    title = weights[0].values
    assert title.shape == query.title.codes.shape
    assert title.bool().tolist() == [[True, False, True], [True, False, False]]
    cell = model.layers[0]
    x = model.inputs(View.of([np.array([5])]))[0, 0]
    share = 1 - (cell.gate_input @ x + cell.gate_bias).sigmoid().mean()
    torch.testing.assert_close(title[0, 0], share)
    assert weights[1].values.tolist()[1] == [0.0]


def test_inspect_of_a_scalar_gate_and_of_none(words):
    batch = Batch([numbers([5, 6, 7])])
    scalar = make("rcnn", words, gate="scalar", fields="title")
    torch.nn.init.zeros_(scalar.layers[0].gate_input)
    torch.nn.init.zeros_(scalar.layers[0].gate_recurrent)
    torch.nn.init.constant_(scalar.layers[0].gate_bias, np.log(3))  # λ = 3/4
    (query, _) = scalar.inspect(batch, batch)
    torch.testing.assert_close(query.values, torch.full((1, 3), 0.25))
    assert make("rcnn", words, gate="constant").inspect(batch, batch) == ()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("rcnn", {"order": 1}),
        ("rcnn", {"decay": 1.0}),
        ("rcnn", {"gate": "matrix"}),
        ("cnn", {"order": 0}),
        ("lstm", {"depth": 0}),
        ("gru", {"dropout": 1.0}),
        ("rcnn", {"body_words": -1}),
    ],
)
def test_impossible_settings(name, values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        read_settings(MODELS[name].Config, values)
