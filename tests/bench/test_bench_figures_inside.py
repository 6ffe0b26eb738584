"""Figures that look inside rankers: what they show is what the models compute."""

import numpy as np
import pytest
import torch

from askonce.bench.report.figures import gates as gate_figures
from askonce.bench.report.figures import hyperqa
from askonce.bench.report.figures import words as word_figures
from askonce.bench.report.inside import answer_weights, right_answer
from askonce.models.ctrn import aligned
from askonce.models.layers.poincare import RADIUS
from askonce.ranker import Ranker


@pytest.fixture
def pair(scene):
    """A question with a right answer that has words which no model knows."""
    pool = scene.pools[4]
    return pool.query, right_answer(pool)


def opened(scene, row):
    result = next(result for result in scene.table.results if result.model == row)
    return Ranker.load(result.first.ranker)


def test_rcnn_strips_show_the_scalar_gate(scene, pair):
    ranker = opened(scene, "rcnn@model.gate=scalar")
    model, post = ranker.model, pair[1]  # an answer: its unknown words take in nothing
    (strip,) = gate_figures.rcnn_strips(ranker, post)
    codes = ranker.lexicon.vocabulary.encode(strip.words)
    cell, c, h, wanted = model.layers[0], torch.zeros(2, 5), torch.zeros(5), []
    with torch.no_grad():
        for code in codes:
            if code < 0:
                wanted.append(0.0)
                continue
            x = model.words.weight[code] * model.word_weight[code]
            gate = torch.sigmoid(cell.gate_input @ x + cell.gate_recurrent @ h + cell.gate_bias)
            c = gate * c + (1 - gate) * (torch.stack([torch.zeros(5), c[0]]) + cell.filters @ x)
            h = torch.tanh(c[1] + cell.bias)
            wanted.append(1 - float(gate))
    assert strip.label == "body"
    assert 0.0 in wanted
    assert strip.weights["1 - λ"] == pytest.approx(wanted, abs=1e-5)


def test_gates_by_position_average_over_the_texts_that_reach_it(scene, pair):
    ranker = opened(scene, "rcnn")
    one, other = pair[0], scene.pools[0].query
    short = type(one)(id="s", title=" ".join(other.title.split()[:4]))
    mean, greatest, counts = gate_figures.position_means(ranker, [one, short], "title")
    shares = [ranker.model.shares(ranker.lexicon.batch([p]), "title")[0] for p in (one, short)]
    assert counts.tolist() == [2] * 4 + [1] * (len(shares[0]) - 4)
    both = torch.stack([shares[0][:4], shares[1]])  # (2, 4, d)
    assert mean[:4] == pytest.approx(both.mean(-1).mean(0).numpy(), abs=1e-6)
    assert greatest[:4] == pytest.approx(both.amax(-1).mean(0).numpy(), abs=1e-6)
    assert greatest[-1] == pytest.approx(float(shares[0][-1].max()), abs=1e-6)


def test_ctrn_strips_show_own_and_lent_gates(scene, pair):
    ranker = opened(scene, "ctrn")
    model, lexicon = ranker.model, ranker.lexicon
    views = [lexicon.batch([post]).text for post in pair]
    gates = [model.gates(view, model.words(view))[1][:, 0] for view in views]  # (T, 2d)
    asked, answered = gate_figures.ctrn_strips(ranker, *pair)
    workspace = aligned(views[1].lengths, views[0].lengths, gates[1].shape[0], "proportional")[:, 0]
    wanted = {
        "f": gates[1][:, :4].mean(1),
        "f*": gates[0][workspace, :4].mean(1),
        "o": gates[1][:, 4:].mean(1),
    }
    assert asked.words == lexicon.words(pair[0].title)
    assert answered.words == lexicon.words(pair[1].body)
    assert list(answered.weights) == list(wanted)
    for name, values in wanted.items():
        assert answered.weights[name] == pytest.approx(values.tolist(), abs=1e-6)


def test_attention_of_answers_sums_to_one(scene, pair):
    for row in ("attentive-lstm", "ap-cnn", "cabin"):
        words, weights = answer_weights(opened(scene, row), *pair)
        assert len(words) == len(weights["attention"])
        assert sum(weights["attention"]) == pytest.approx(1, abs=1e-5)
    assert list(answer_weights(opened(scene, "compare-aggregate"), *pair)[1]) == [
        "strength of match"
    ]


def test_pairs_of_words_are_the_matrix_of_attentive_pooling(scene, pair):
    ranker = opened(scene, "ap-cnn")
    model = ranker.model
    with torch.no_grad():
        q, a = (
            model.word_states(view, model.words(view))[0]
            for view in (ranker.lexicon.batch([post]).text for post in pair)
        )
        wanted = torch.tanh(q @ model.attention.of_query.weight.T @ a.T)
        weights = torch.softmax(wanted.amax(0), 0)
    actual = word_figures.word_pairs(ranker, *pair)
    assert np.array(actual) == pytest.approx(wanted.numpy(), abs=1e-5)
    shown = answer_weights(ranker, *pair)[1]["attention"]
    assert shown == pytest.approx(weights.tolist(), abs=1e-5)


def test_pairs_of_words_of_compare_aggregate_are_its_attention(scene, pair):
    ranker = opened(scene, "compare-aggregate")
    actual = np.array(word_figures.word_pairs(ranker, *pair))
    assert actual.shape == tuple(len(word_figures.read_words(ranker, post)) for post in pair)
    assert (actual.sum(0) < 1).all()  # the rest goes to the word that matches none
    asked = next(e for e in ranker.explain(*pair).words if e.side == "query")
    assert actual.mean(1) == pytest.approx(np.array(asked.weights), abs=1e-6)


def test_salient_words_are_those_of_most_attention(scene, pair):
    ranker = opened(scene, "cabin")
    words, weights = answer_weights(ranker, *pair)
    cell = word_figures.top_words(ranker, *pair, numbers=True)
    top = sorted(range(len(words)), key=lambda n: -weights["attention"][n])[:3]
    assert [n for n, span in enumerate(cell) if span.mark] == sorted(top)
    assert cell[top[0]].text == f"{words[top[0]]} ({weights['attention'][top[0]]:.4f})"
    assert [span.text for n, span in enumerate(cell) if n not in top] == [
        word for n, word in enumerate(words) if n not in top
    ]


def test_jump_words_go_by_similarity_of_the_jump(scene, pair):
    ranker = opened(scene, "cabin")
    model = ranker.model
    with torch.no_grad():
        asked, answered = (
            model.read(ranker.lexicon.batch([post]), side)
            for post, side in zip(pair, ("query", "candidate"), strict=True)
        )
        own = model.candidate_reader.attention
        change = answered["keys"][0, :, 1]  # q1·∇h_t
        similarity = torch.tanh(change[:, None] * asked["sentence"]) @ own.q2  # q2·E_t
    order = similarity.argsort(descending=True).tolist()
    cell = word_figures.jump_words(ranker, *pair)
    marks = {"(T@1)": order[0], "(T@2)": order[1], "(B@1)": order[-1], "(B@2)": order[-2]}
    for mark, workspace in marks.items():
        assert cell[workspace].text.endswith(mark)


def test_norms_are_of_sums_before_they_are_clipped(scene, pair):
    ranker = opened(scene, "hyperqa")
    layer, words = ranker.model.bag.projection, ranker.model.words.weight.detach().numpy()
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()

    def projected(text):
        ids = np.maximum(ranker.lexicon.vocabulary.encode(ranker.lexicon.words(text)), 1)
        return np.maximum(words[ids] @ weight.T + bias, 0)

    actual = hyperqa.text_norms(ranker, list(pair))
    wanted = [np.linalg.norm(projected(text).sum(0)) for text in (pair[0].title, pair[1].body)]
    assert actual == pytest.approx(wanted, rel=1e-5)
    assert hyperqa.clipped(np.array([0.5, RADIUS, 2.0, 3.0])) == 0.5
    lengths = hyperqa.word_norms(ranker)
    bike = ranker.lexicon.vocabulary.encode(["bike"])[0]
    assert lengths[bike - 2] == pytest.approx(np.linalg.norm(projected("bike")), rel=1e-5)


def test_words_by_level(scene, pair):
    ranker = opened(scene, "hyperqa")
    lengths = hyperqa.word_norms(ranker)
    edges = np.quantile(lengths, np.linspace(0, 1, 6))
    asked, answered = hyperqa.pair_levels(ranker, *pair, edges)
    known = ranker.lexicon.vocabulary
    for level, words in enumerate(asked):
        for word in words:
            length = lengths[known.encode([word])[0] - 2]
            assert edges[level] <= length * (1 + 1e-5)
            assert length * (1 - 1e-5) <= edges[level + 1]
    words = {*ranker.lexicon.words(pair[0].title)} - {"<", ">"}
    assert {word for level in asked for word in level} == words
    assert "glue" not in {word for level in answered for word in level}  # it has no vector
    assert hyperqa.bucket_edges(np.array([0.5, 5.5])).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert hyperqa.bucket_edges(np.linspace(0, 6.2, 100)).tolist()[-2:] == [6, np.inf]
    assert hyperqa.bucket_edges(np.linspace(0, 60, 7)).tolist() == [0, 10, 20, 30, 40, 50, 60]
