"""Figures that look inside rankers: what they show is what the models compute."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from askonce.bench.blocks import Grid, Picture
from askonce.bench.figures import (
    FIGURES,
    attention,
    ctrn_gates,
    embedding_map,
    norms,
    rcnn_gates,
    salient_words,
    top_answers,
)
from askonce.bench.heat_map import heat_map
from askonce.bench.inside import first, rankings, right_answer, scenes, spread
from askonce.bench.point_cloud import Cloud, TurningClouds, flat
from askonce.bench.prose import Prose, Span, plain
from askonce.bench.store import Store, write_json
from askonce.bench.strips import Strip, common_scale, strips
from askonce.evaluation import METRICS, evaluate, pools_to_qrels, pools_to_run, write_run
from askonce.models.ctrn import aligned
from askonce.models.poincare import RADIUS
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon

INSIDE = (
    "attention", "embedding-map", "gates-ctrn", "gates-rcnn", "norms", "salient-words",
    "ties-and-failures", "top-answers",
)  # fmt: skip
ROWS = {
    "hyperqa": ("hyperqa", {"dim": 8, "init": "uniform"}),
    "hyperqa@model.dim=4": ("hyperqa", {"dim": 4}),
    "cosineqa": ("cosineqa", {"dim": 8}),
    "rcnn": ("rcnn", {"dim": 5}),
    "rcnn@model.gate=scalar": ("rcnn", {"dim": 5, "gate": "scalar"}),
    "ctrn": ("ctrn", {"projection": 6, "dim": 4, "hidden": 4}),
    "attentive-lstm": ("attentive-lstm", {"hidden": 3}),
    "ap-cnn": ("ap-cnn", {"filters": 4}),
    "compare-aggregate": ("compare-aggregate", {"dim": 4}),
    "cabin": ("cabin", {"hidden": 3, "similarity": 4}),
    "cabin@model.jump=false": ("cabin", {"hidden": 3, "similarity": 4, "jump": False}),
}


def stir(ranker):
    """Weights large enough to matter, the word vectors left alone."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, weight in ranker.model.named_parameters():
            if not name.startswith("words."):
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.7)


def put(store, dataset, row):
    """A finished cell whose ranker has random weights, with what it really ranks."""
    model, options = ROWS[row]
    lexicon = Lexicon.build(pool.query for pool in dataset.splits["test"])  # answers have others
    vectors = np.random.default_rng(3).normal(size=(len(lexicon.vocabulary), 6))
    ranker = Ranker.create(model, lexicon, vectors.astype(np.float32), options)
    stir(ranker)
    folder = store.place("csv", row, 1)
    (folder / "runs").mkdir(parents=True)
    ranker.save(folder / "ranker")
    pools = dataset.splits["test"]
    run = pools_to_run(pools, ranker.score_pools(pools))
    write_run(folder / "runs" / "test.run.gz", run)
    report = evaluate(pools_to_qrels(pools), run)
    values = {q: [found[m] for m in METRICS] for q, found in report.per_query.items()}
    write_json(folder / "per_query.json", {"test": values})
    figures = {"protocol": "trec", "dev": False, "queries": report.queries}
    figures |= {"metrics": report.metrics, "tied_positives": report.tied_positives}
    record = {
        "dataset": "csv", "model": row, "seed": 1, "kind": "trained",
        "settings": {"row": {"recipe": {"model": model, "options": options}}},
        "figures": {"test": figures}, "facts": {"seconds": 1.0, "cpu_seconds": 1.0},
        "versions": {}, "finished": "2026-01-01",
    }  # fmt: skip
    write_json(folder / "cell.json", record)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with a small row of every model that a figure looks into."""
    place = tmp_path_factory.mktemp("inside")
    (place / "data").mkdir()
    lines = ["question,answer,label"]
    for n in range(9):
        question = f"how do i mend part {n} of my <old> bike"
        lines.append(f"{question},glue part {n} of it and wait for {n} days,1")
        lines.append(f"{question},of course you can mend part {n},{n % 2}")
        lines += [f"{question},do not ask me how {word} {n},0" for word in ("wheels", "my bike")]
    for split in ("dev", "test"):
        (place / "data" / f"{split}.csv").write_text("\n".join(lines))
    made = Store.make(place / "store", quick=False)
    made.remember_data("csv", place / "data")
    for row in ROWS:
        put(made, made.dataset("csv"), row)
    return made


@pytest.fixture(scope="module")
def scene(store):
    (found,) = scenes(store)
    return found


@pytest.fixture
def pair(scene):
    """A question with a right answer that has words which no model knows."""
    pool = scene.pools[4]
    return pool.query, right_answer(pool)


@pytest.fixture(scope="module")
def figures(store):
    """The blocks of each figure."""
    return {name: FIGURES[name](store) for name in INSIDE}


def opened(scene, row):
    line = next(line for line in scene.table.lines if line.model == row)
    return Ranker.load(first(line).ranker)


def test_blocks_that_quote_say_so(figures):
    for name, blocks in figures.items():
        for block in blocks:
            shown = block.html()
            assert block.quotes or not ("glue" in shown or "mend" in shown), (name, block.title)


def test_every_figure_is_drawn(figures, tmp_path):
    for name, blocks in figures.items():
        assert blocks, name
        for number, block in enumerate(blocks):
            assert "nan" not in block.html()
            assert block.markdown(tmp_path / "figures", f"{name}-{number}")
            if isinstance(block, Picture):
                ElementTree.fromstring(block.content)
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 9


def test_rows_whose_weights_or_texts_are_gone_are_left_out(store, tmp_path):
    other = Store.make(tmp_path / "store", quick=False)
    other.remember_data("csv", store.facts["data"]["csv"])
    put(other, store.dataset("csv"), "ctrn")
    put(other, store.dataset("csv"), "ap-cnn")
    weights = other.place("csv", "ctrn", 1) / "ranker" / "model.safetensors"
    weights.write_bytes(b"old")
    assert ctrn_gates.ctrn_gates(other) == []
    assert attention.attention(other)
    other.remember_data("csv", tmp_path / "gone")
    assert attention.attention(other) == []
    assert top_answers.top_answers(other) == []


def test_examples_and_rows_are_chosen_the_same_way_each_time(scene):
    assert spread("abcdefghij", 4) == ["a", "c", "f", "h"]
    assert spread([1, 2], 4) == [1, 2]
    assert [pool.query.id for pool in scene.examples(3)] == [
        scene.pools[n].query.id for n in (0, 3, 6)
    ]
    names = [row.model for row, _ in scene.opened("hyperqa", "qa-lstm", "cabin")]
    assert names == ["hyperqa", "cabin"]


def test_rankings_are_those_of_the_run(scene):
    row = scene.table.lines[0]
    run = first(row).run("test")
    queries = list(run)[2:5]
    for query, ranked in rankings(row, queries).items():
        assert ranked == sorted(run[query], key=run[query].get, reverse=True)
        assert len(ranked) == 4


def test_rcnn_strips_show_the_scalar_gate(scene, pair):
    ranker = opened(scene, "rcnn@model.gate=scalar")
    model, post = ranker.model, pair[1]  # an answer: its unknown words take in nothing
    (strip,) = rcnn_gates.gate_strips(ranker, post)
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
    assert strip.rows["1 - λ"] == pytest.approx(wanted, abs=1e-5)


def test_gates_by_position_average_over_the_texts_that_reach_it(scene, pair):
    ranker = opened(scene, "rcnn")
    one, other = pair[0], scene.pools[0].query
    short = type(one)(id="s", title=" ".join(other.title.split()[:4]))
    mean, greatest, counts = rcnn_gates.position_means(ranker, [one, short], "title")
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
    asked, answered = ctrn_gates.gate_strips(ranker, *pair)
    place = aligned(views[1].lengths, views[0].lengths, gates[1].shape[0], "proportional")[:, 0]
    wanted = {
        "f": gates[1][:, :4].mean(1),
        "f*": gates[0][place, :4].mean(1),
        "o": gates[1][:, 4:].mean(1),
    }
    assert asked.words == lexicon.words(pair[0].title)
    assert answered.words == lexicon.words(pair[1].body)
    assert list(answered.rows) == list(wanted)
    for name, values in wanted.items():
        assert answered.rows[name] == pytest.approx(values.tolist(), abs=1e-6)


def test_attention_of_answers_sums_to_one(scene, pair):
    for row in ("attentive-lstm", "ap-cnn", "cabin"):
        words, weights = attention.answer_weights(opened(scene, row), *pair)
        assert len(words) == len(weights["attention"])
        assert sum(weights["attention"]) == pytest.approx(1, abs=1e-5)
    assert list(attention.answer_weights(opened(scene, "compare-aggregate"), *pair)[1]) == [
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
    found = attention.word_pairs(ranker, *pair)
    assert np.array(found) == pytest.approx(wanted.numpy(), abs=1e-5)
    shown = attention.answer_weights(ranker, *pair)[1]["attention"]
    assert shown == pytest.approx(weights.tolist(), abs=1e-5)


def test_pairs_of_words_of_compare_aggregate_are_its_attention(scene, pair):
    ranker = opened(scene, "compare-aggregate")
    found = np.array(attention.word_pairs(ranker, *pair))
    assert found.shape == tuple(len(attention.read_words(ranker, post)) for post in pair)
    assert (found.sum(0) < 1).all()  # the rest goes to the word that matches none
    asked = next(e for e in ranker.explain(*pair).words if e.side == "query")
    assert found.mean(1) == pytest.approx(np.array(asked.weights), abs=1e-6)


def test_salient_words_are_those_of_most_attention(scene, pair):
    ranker = opened(scene, "cabin")
    words, weights = attention.answer_weights(ranker, *pair)
    cell = salient_words.top_words(ranker, *pair, numbers=True)
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
        change = answered.parts[2][0, :, 1]  # q1·∇h_t
        similarity = torch.tanh(change[:, None] * asked.parts[1]) @ own.q2  # q2·E_t
    order = similarity.argsort(descending=True).tolist()
    cell = salient_words.jump_words(ranker, *pair)
    marks = {"(T@1)": order[0], "(T@2)": order[1], "(B@1)": order[-1], "(B@2)": order[-2]}
    for mark, place in marks.items():
        assert cell[place].text.endswith(mark)


def test_first_answers_of_two_rows(scene, figures):
    one, other = top_answers.best_two(scene)
    means = {line.model: line.mean("MAP") for line in scene.table.lines}
    assert means[one.model] == max(means.values())
    assert one.model.split("@")[0] != other.model.split("@")[0]
    (table,) = figures["top-answers"]
    assert list(table.header) == ["rank", one.model, other.model]
    pool = top_answers.differing(scene, one, other)[0]
    ranked = rankings(one, [pool.query.id])[pool.query.id]
    posts = dict(zip([p.id for p in pool.candidates], pool.labels, strict=True))
    for place in range(3):
        cell = table.rows[1 + place][1]
        assert (cell[0] == Span("✓", "bold")) == (posts[ranked[place]] > 0)
        text = next(p.text for p in pool.candidates if p.id == ranked[place])
        assert cell[-1].text == text


def test_lines_of_the_map_join_questions_and_their_right_answers(scene, figures):
    sample = embedding_map.sampled(scene.pools)
    joined = {(sample.posts[a].id, sample.posts[b].id) for a, b in sample.lines}
    assert joined == {(pool.query.id, post.id) for pool in scene.pools for post in pool.positives}
    assert {sample.groups[a] for a, _ in sample.lines} == {0}
    assert {sample.groups[b] for _, b in sample.lines} == {1}
    assert len(sample.posts) == len(sample.groups) == len({p.id for p in sample.posts})
    drawn, solid = figures["embedding-map"]
    assert drawn.content.count("<circle") == 2 * (len(sample.posts) + 3)
    assert [cloud.points.shape for cloud in solid.clouds] == [(len(sample.posts), 3)] * 2
    assert solid.clouds[0].lines == sample.lines


def test_maps_are_the_same_each_time():
    vectors = np.random.default_rng(1).normal(size=(12, 4))
    one, other = (embedding_map.placed(vectors, 2) for _ in range(2))
    assert (one == other).all()


def test_clouds_are_drawn_to_scale():
    points = np.array([[0.0, 0.0], [10.0, 5.0]])
    cloud = Cloud("c", points, np.array([0, 1]), ["a", "b<"], [(0, 1)])
    drawn = flat([cloud])
    assert "M10.0 146.0L450.0 366.0" in drawn  # width over height as in the points
    assert "b&lt;" in drawn
    block = TurningClouds("t", "", [cloud._replace(points=np.array([[0, 0, 0], [1, 1, 1.0]]))])
    assert "&quot;lines&quot;:[[0,1]]" in block.html()


def test_norms_are_of_sums_before_they_are_clipped(scene, pair):
    ranker = opened(scene, "hyperqa")
    layer, words = ranker.model.bag.projection, ranker.model.words.weight.detach().numpy()
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()

    def projected(text):
        ids = np.maximum(ranker.lexicon.vocabulary.encode(ranker.lexicon.words(text)), 1)
        return np.maximum(words[ids] @ weight.T + bias, 0)

    found = norms.text_norms(ranker, list(pair))
    wanted = [np.linalg.norm(projected(text).sum(0)) for text in (pair[0].title, pair[1].body)]
    assert found == pytest.approx(wanted, rel=1e-5)
    assert norms.clipped(np.array([0.5, RADIUS, 2.0, 3.0])) == 0.5
    lengths = norms.word_norms(ranker)
    bike = ranker.lexicon.vocabulary.encode(["bike"])[0]
    assert lengths[bike - 2] == pytest.approx(np.linalg.norm(projected("bike")), rel=1e-5)


def test_words_by_level(scene, pair):
    ranker = opened(scene, "hyperqa")
    lengths = norms.word_norms(ranker)
    edges = np.quantile(lengths, np.linspace(0, 1, 6))
    asked, answered = norms.pair_levels(ranker, *pair, edges)
    known = ranker.lexicon.vocabulary
    for level, words in enumerate(asked):
        for word in words:
            length = lengths[known.encode([word])[0] - 2]
            assert edges[level] <= length * (1 + 1e-5)
            assert length * (1 - 1e-5) <= edges[level + 1]
    words = {*ranker.lexicon.words(pair[0].title)} - {"<", ">"}
    assert {word for level in asked for word in level} == words
    assert "glue" not in {word for level in answered for word in level}  # it has no vector
    assert norms.bucket_edges(np.array([0.5, 5.5])).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert norms.bucket_edges(np.linspace(0, 6.2, 100)).tolist()[-2:] == [6, np.inf]
    assert norms.bucket_edges(np.linspace(0, 60, 7)).tolist() == [0, 10, 20, 30, 40, 50, 60]


def test_failures_show_the_first_right_answer_and_what_stood_above(scene, figures):
    *ties, table = figures["ties-and-failures"]
    assert all(isinstance(block, Grid) for block in ties)
    best = max(scene.table.lines, key=lambda line: line.mean("MAP"))
    reciprocal = first(best).values("test", "MRR")
    worst = min(scene.pools, key=lambda pool: reciprocal[pool.query.id])
    question, rank, right, put_first = (cell[0].text for cell in table.rows[0])
    assert question == worst.query.text
    assert rank == f"{round(1 / reciprocal[worst.query.id])} of 4"
    assert right in {post.text for post in worst.positives}
    ranked = rankings(best, [worst.query.id])[worst.query.id]
    assert put_first == next(p.text for p in worst.candidates if p.id == ranked[0])


def test_strips_colour_words_by_their_share_of_the_scale():
    groups = [("h", [Strip("s", ["a", "b", "c<", "d"], {"w": [1.0, 2.0, 3.0, 0.0]})])]
    assert common_scale(groups) == {"w": (1.0, 3.0)}
    drawn = strips(groups, common_scale(groups))
    assert re.findall(r'fill-opacity="([\d.]+)"', drawn) == ["0.060", "0.430", "0.800", "0.000"]
    assert re.findall(r'fill-opacity="([\d.]+)"', strips(groups)) == [
        "0.307",
        "0.553",
        "0.800",
        "0.000",
    ]
    assert "<title>c&lt; · w 3.0000</title>" in drawn
    long = strips([("", [Strip("s", ["word"] * 100, {"f": [0.5] * 100, "o": [0.1] * 100})])])
    assert long.count("<rect") == 120  # sixty words, two rows
    assert max(float(x) for x in re.findall(r'<rect x="([\d.]+)"', long)) < 1000


def test_heat_maps_tell_more_from_less():
    drawn = heat_map(["a", "b"], ["c"], [[0.5], [-1.0]])
    assert re.findall(r'fill="(#\w+)" fill-opacity="([\d.]+)"', drawn) == [
        ("#2f7ed8", "0.490"),
        ("#d1495b", "0.950"),
    ]


def test_prose_in_both_forms(tmp_path):
    rows = [[plain("a | b")], [plain("x<y"), [Span("so*", "bold"), Span("it", "under")]]]
    table = Prose("t", "", ["p", "q"], rows)
    assert "<td colspan=2><b>a | b</b></td>" in table.html()
    assert "<td>x&lt;y</td><td><b>so*</b> <u>it</u></td>" in table.html()
    assert table.markdown(tmp_path, "n").splitlines() == [
        "| p | q |",
        "|---|---|",
        "| **a \\| b** |  |",
        "| x\\<y | **so\\*** _it_ |",
    ]
