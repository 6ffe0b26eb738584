"""Charts, clouds, strips, heat maps and tables, drawn from values given by hand."""

import json
import math
import re
import subprocess
import sys
from html import unescape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.bench.report.blocks import (
    RotatingClouds,
    Span,
    Strip,
    Strips,
    Table,
    common_scale,
)
from askonce.bench.report.charts import (
    Axis,
    Bar,
    BarChart,
    Cloud,
    CloudChart,
    HeatMap,
    LineChart,
    Panel,
    PanelChart,
    Series,
)
from askonce.bench.report.document import block_html, block_markdown, credited, may_quote
from askonce.bench.report.drawing import LABEL_GAP, draw, separated, svg
from askonce.bench.report.figures import hyperqa


def test_maps_are_the_same_each_time():
    vectors = np.random.default_rng(1).normal(size=(12, 4))
    one, other = (hyperqa.placed(vectors, 2) for _ in range(2))
    assert (one == other).all()


def test_clouds_are_drawn_to_scale():
    points = np.array([[0.0, 0.0], [10.0, 5.0]])
    cloud = Cloud("c", points, np.array([0, 1]), ["a", "b<"], [(0, 1)])
    axes = draw(CloudChart([cloud])).axes[0]
    (line,) = axes.lines
    assert line.get_xydata().tolist() == points.tolist()
    assert axes.get_aspect() == 1  # width over height as in the points
    assert "b&lt;" in svg(CloudChart([cloud]), "")
    block = RotatingClouds("t", "", [cloud._replace(points=np.array([[0, 0, 0], [1, 1, 1.0]]))])
    (data,) = re.findall(r'data-cloud="([^"]*)"', block_html(block))
    assert json.loads(unescape(data))["lines"] == [[0, 1]]


@pytest.mark.parametrize("size", [(0.5, 10.0), (10.0, 0.5)])
def test_a_narrow_cloud_keeps_its_legend_in_the_picture(size):
    points = np.array([[0.0, 0.0], size, [0.0, size[1]]])
    names = ["question", "right answer", "wrong answer"]
    drawn = svg(CloudChart([Cloud("c", points, np.arange(3), names, [])]), "")
    places = re.findall(r'<use [^>]*x="([-\d.]+)" y="([-\d.]+)"', drawn)
    assert len(places) == 2 * 3  # points and their names
    assert all(0 < float(x) < 460 and 0 < float(y) < 486 for x, y in places)


def test_strips_shade_words_by_their_share_of_the_scale():
    groups = [("h", [Strip("s", ["a", "b", "c<", "d"], {"w": [1.0, 2.0, 3.0, 0.0]})])]
    assert common_scale(groups) == {"w": (1.0, 3.0)}
    drawn = block_html(Strips("t", "", groups, common_scale(groups)))
    assert _shades(drawn) == ["0.060", "0.430", "0.800", "0.000"]
    assert _shades(block_html(Strips("t", "", groups))) == ["0.307", "0.553", "0.800", "0.000"]
    assert 'title="c&lt; · w 3.0000">c&lt;<' in drawn
    long = Strip("s", ["word"] * 100, {"f": [0.5] * 100, "o": [0.1] * 100})
    assert len(_shades(block_html(Strips("t", "", [("", [long])])))) == 120  # sixty words, two rows


def _shades(drawn):
    return re.findall(r"background:rgb\(47 126 216 / ([\d.]+)\)", drawn)


def test_strips_in_markdown_have_their_darkest_words_in_bold(tmp_path):
    strip = Strip("s", ["a_b", "c"], {"f": [1.0, 0.1], "o": [0.1, 1.0]})
    assert block_markdown(Strips("t", "", [("why", [strip])]), tmp_path).splitlines() == [
        "| text | words, the darkest in bold |",
        "|---|---|",
        "| **why** |  |",
        "| s, f | **a\\_b** c |",
        "| s, o | a\\_b **c** |",
    ]


def test_heat_maps_tell_more_from_less():
    drawn = svg(HeatMap(["a", "b"], ["c$d", "e$"], [[0.5, 0.0], [-1.0, 0.0]]), "")
    assert re.findall(r"fill: (#\w+); opacity: ([\d.]+)", drawn) == [
        ("#2f7ed8", "0.49"),
        ("#2f7ed8", "0.03"),
        ("#d1495b", "0.95"),
        ("#2f7ed8", "0.03"),
    ]
    assert "<title>b · c$d -1.0000</title>" in drawn
    assert ">c$d<" in drawn  # no formula


def test_sentences_in_both_forms(tmp_path):
    rows = [["a | b"], ["x<y", [Span("so*", "bold"), Span("it", "under")]]]
    table = Table("t", "", ["p", "q"], rows, quotes="wikiqa")
    assert '<td colspan="2"><b>a | b</b></td>' in block_html(table)
    assert "<td>x&lt;y</td><td><b>so*</b> <u>it</u></td>" in block_html(table)
    assert block_markdown(table, tmp_path).splitlines() == [
        "| p | q |",
        "|---|---|",
        "| **a \\| b** |  |",
        "| x\\<y | **so\\*** _it_ |",
    ]


def _charts():
    return (
        LineChart(
            [Series("a<b", [(1.0, 0.5)], [0.9]), Series("c", [(0.0, 2.0), (3, 4)], dotted=True)],
            Axis("x"), Axis("y", log=True), {"r&s": 1.0},
        ),
        BarChart([Bar("a<b", 0.0, "0 s"), Bar("c", 2.0, "2 s")], "seconds"),
        PanelChart([Panel("a<b", [[(1.0, 0.5)]]), Panel("c", [[(1, 0.5)]])], Axis("x"), Axis("")),
    )  # fmt: skip


def test_charts_are_text_that_escapes_names():
    drawn = "".join(svg(chart, "") for chart in _charts())
    assert "nan" not in drawn
    assert "a<b" not in drawn
    assert drawn.count("a&lt;b") == 6  # a tooltip and a name of line, bar and panel
    assert "r&amp;s" in drawn


def test_charts_take_the_colour_of_the_page_and_share_no_ids():
    for chart in _charts():
        drawn = svg(chart, "")
        assert drawn == svg(chart, "")  # deterministic
        assert "fill: currentColor" in drawn
        assert not re.search("#000000|#010203|fill: #ffffff|url\\(|<metadata", drawn)
        assert all(re.fullmatch("m[0-9a-f]+", name) for name in re.findall(r' id="(.*?)"', drawn))


def test_matplotlib_is_loaded_only_to_draw_and_torch_only_for_models():
    code = (
        "import sys, askonce.bench.run, askonce.bench.report.table as t;"
        "from askonce.bench.plan import row_of; row_of('bm25', 'csv', None);"
        "assert 'torch' not in sys.modules;"
        "import askonce.bench.report.document as d; d.FIGURES.names();"
        "assert not any(m.partition('.')[0] == 'matplotlib' for m in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


finite = st.floats(-1e6, 1e6)


@given(st.lists(finite, min_size=1, max_size=20), st.booleans())
def test_scales_hold_their_values_and_grid_lines(values, log):
    if log:
        values = [abs(value) + 1e-3 for value in values]
    points = [(float(n), value) for n, value in enumerate(values)]
    (axes,) = draw(LineChart([Series("s", points)], Axis("x"), Axis("y", log=log))).axes
    low, high = axes.get_ylim()
    assert all(low <= value <= high for value in values)
    places = axes.yaxis.get_majorticklocs()
    ticks = zip(places, axes.yaxis.get_major_formatter().format_ticks(places), strict=True)
    shown = [text for workspace, text in ticks if low <= workspace <= high]
    assert 0 < len(set(shown)) == len(shown) <= 13


@given(st.lists(st.floats(0, 300), max_size=20))
def test_names_never_cover_each_other(heights):
    actual = separated(heights, 350.0)
    gaps = [b - a for a, b in zip(sorted(actual), sorted(actual)[1:], strict=False)]
    assert all(gap >= LABEL_GAP - 1e-6 for gap in gaps)
    assert all(height <= 350 for height in actual)
    assert all(math.isfinite(height) for height in actual)


def test_without_texts_only_open_datasets_are_quoted():
    travel, other = (Table("t", "About.", ["p"], [["x"]], quotes=name) for name in ("travel", "w"))
    assert may_quote(travel)
    assert may_quote(Table("t", "", ["p"], [["x"]]))
    assert not may_quote(other)
    assert "CC BY-SA 3.0" in credited(travel).about
