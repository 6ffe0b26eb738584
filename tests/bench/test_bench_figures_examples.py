"""Figures of examples: how they are chosen, and that they show what rankers ranked."""

from xml.etree import ElementTree

import pytest

from askonce.bench.report.blocks import Plot, Span, Strips, Table
from askonce.bench.report.document import block_html, block_markdown
from askonce.bench.report.drawing import svg
from askonce.bench.report.figures import FIGURES, hyperqa
from askonce.bench.report.figures import rankings as figure_rankings
from askonce.bench.report.inside import evenly_spaced, rankings
from askonce.bench.store import Store

INSIDE = (
    "attention", "embedding-map", "gates-ctrn", "gates-rcnn", "norms", "salient-words",
    "ties-and-failures", "top-answers",
)  # fmt: skip


@pytest.fixture(scope="module")
def figures(store):
    """The blocks of each figure."""
    return {name: FIGURES[name](store) for name in INSIDE}


@pytest.fixture(scope="module")
def pages(figures):
    """The blocks of each figure, and how a page shows them."""
    return {
        name: [(block, block_html(block)) for block in blocks] for name, blocks in figures.items()
    }


def test_blocks_that_quote_say_so(pages):
    for name, blocks in pages.items():
        for block, shown in blocks:
            assert block.quotes or not ("glue" in shown or "mend" in shown), (name, block.title)


def test_every_figure_is_drawn(pages, tmp_path):
    for name, blocks in pages.items():
        assert blocks, name
        for block, html in blocks:
            assert "nan" not in html
            shown = block_markdown(block, tmp_path / "figures")
            assert shown.startswith("| text |") == isinstance(block, Strips)
            if isinstance(block, Plot):
                ElementTree.fromstring(svg(block.chart, block.title))
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 6
    assert sum(isinstance(block, Strips) for blocks in pages.values() for block, _ in blocks) == 3


def test_rows_whose_weights_or_texts_are_gone_are_left_out(store, put_cell, tmp_path):
    other = Store.make(tmp_path / "store", quick=False)
    other.remember_data("csv", store.facts["data"]["csv"])
    put_cell(other, store.dataset("csv"), "ctrn")
    put_cell(other, store.dataset("csv"), "ap-cnn")
    weights = other.cell_folder("csv", "ctrn", 1) / "ranker" / "model.safetensors"
    weights.write_bytes(b"old")
    assert FIGURES["gates-ctrn"](other) == []
    assert FIGURES["attention"](other)
    for runs in other.folder.rglob("runs"):  # a store that kept figures only
        runs.rename(runs.with_name("elsewhere"))
    assert FIGURES["top-answers"](other) == []
    assert not any("Failures" in block.title for block in FIGURES["ties-and-failures"](other))
    other.remember_data("csv", tmp_path / "gone")
    assert FIGURES["attention"](other) == []
    assert FIGURES["top-answers"](other) == []


def test_examples_and_rows_are_chosen_the_same_way_each_time(scene):
    assert evenly_spaced("abcdefghij", 4) == ["a", "c", "f", "h"]
    assert evenly_spaced([1, 2], 4) == [1, 2]
    assert [pool.query.id for pool in scene.examples(3)] == [
        scene.pools[n].query.id for n in (0, 3, 6)
    ]
    names = [result.model for result, _ in scene.opened("hyperqa", "qa-lstm", "cabin")]
    assert names == ["hyperqa", "cabin"]


def test_rankings_are_those_of_the_run(scene):
    result = scene.table.results[0]
    run = result.first.run("test")
    queries = list(run)[2:5]
    for query, ranked in rankings(result, queries).items():
        assert ranked == sorted(run[query], key=run[query].get, reverse=True)
        assert len(ranked) == 4


def test_first_answers_of_two_rows(scene, figures):
    one, other = figure_rankings.best_two(scene)
    means = {result.model: result.mean("MAP") for result in scene.table.results}
    assert means[one.model] == max(means.values())
    assert one.model.split("@")[0] != other.model.split("@")[0]
    (table,) = figures["top-answers"]
    assert list(table.header) == ["rank", one.model, other.model]
    pool = figure_rankings.differing(scene, one, other)[0]
    ranked = rankings(one, [pool.query.id])[pool.query.id]
    posts = dict(zip([p.id for p in pool.candidates], pool.labels, strict=True))
    for workspace in range(3):
        cell = table.rows[1 + workspace][1]
        assert (cell[0] == Span("✓", "bold")) == (posts[ranked[workspace]] > 0)
        text = next(p.text for p in pool.candidates if p.id == ranked[workspace])
        assert cell[-1].text == text


def test_lines_of_the_map_join_questions_and_their_right_answers(scene, figures):
    sample = hyperqa.sampled(scene.pools)
    joined = {(sample.posts[a].id, sample.posts[b].id) for a, b in sample.lines}
    assert joined == {(pool.query.id, post.id) for pool in scene.pools for post in pool.positives}
    assert {sample.groups[a] for a, _ in sample.lines} == {0}
    assert {sample.groups[b] for _, b in sample.lines} == {1}
    assert len(sample.posts) == len(sample.groups) == len({p.id for p in sample.posts})
    drawn, solid = figures["embedding-map"]
    assert svg(drawn.chart, "").count("<use ") == 2 * (len(sample.posts) + 3)  # and the legend
    assert [cloud.points.shape for cloud in solid.clouds] == [(len(sample.posts), 3)] * 2
    assert solid.clouds[0].lines == sample.lines


def test_failures_show_the_first_right_answer_and_what_stood_above(scene, figures):
    *ties, table = figures["ties-and-failures"]
    assert all(isinstance(block, Table) for block in ties)
    best = max(scene.table.results, key=lambda result: result.mean("MAP"))
    reciprocal = best.first.values("test", "MRR")
    worst = min(scene.pools, key=lambda pool: reciprocal[pool.query.id])
    question, rank, right, put_first = table.rows[0]
    assert question == worst.query.text
    assert rank == f"{round(1 / reciprocal[worst.query.id])} of 4"
    assert right in {post.text for post in worst.positives}
    ranked = rankings(best, [worst.query.id])[worst.query.id]
    assert put_first == next(p.text for p in worst.candidates if p.id == ranked[0])
