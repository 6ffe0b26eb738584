"""Charts, clouds, strips, heat maps and prose, drawn from values given by hand."""

import math
import re

import numpy as np
from askonce.bench.report.axes import NAME_HEIGHT, Axis, Scale, spread
from askonce.bench.report.heat_map import heat_map
from askonce.bench.report.point_cloud import Cloud, TurningClouds, flat
from askonce.bench.report.prose import Prose, Span, plain
from askonce.bench.report.strips import Strip, common_scale, strips
from hypothesis import given
from hypothesis import strategies as st

from askonce.bench.report.charts import Bar, Panel, Series, bar_chart, line_chart, panels
from askonce.bench.report.figures import embedding_map


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


def test_charts_are_text_that_escapes_names():
    drawn = line_chart(
        [Series("a<b", [(1.0, 0.5)], [0.9]), Series("c", [(0.0, 2.0), (3.0, 4.0)], dotted=True)],
        Axis("x"), Axis("y", log=True), {"r&s": 1.0},
    )  # fmt: skip
    drawn += bar_chart([Bar("a<b", 0.0, "0 s"), Bar("c", 2.0, "2 s")], "seconds")
    drawn += panels([Panel("a<b", [[(1.0, 0.5)]]), Panel("c", [[(1.0, 0.5)]])], Axis("x"), Axis(""))
    assert "nan" not in drawn
    assert "a<b" not in drawn
    assert drawn.count("a&lt;b") == 6  # a title and a name of line, bar and panel
    assert "r&amp;s" in drawn


finite = st.floats(-1e6, 1e6)


@given(st.lists(finite, min_size=1, max_size=20), st.booleans())
def test_scales_hold_their_values_and_grid_lines(values, log):
    if log:
        values = [abs(value) + 1e-3 for value in values]
    scale = Scale.over(values, Axis("x", log=log))
    ticks = scale.ticks()
    assert all(0 <= scale.share(value) <= 1 for value in values)
    assert all(-1e-9 <= scale.share(place) <= 1 + 1e-9 for place, _ in ticks)
    assert len({text for _, text in ticks}) == len(ticks) <= 13


@given(st.lists(st.floats(0, 300), max_size=20))
def test_names_never_cover_each_other(heights):
    found = spread(heights, 350.0)
    gaps = [b - a for a, b in zip(sorted(found), sorted(found)[1:], strict=False)]
    assert all(gap >= NAME_HEIGHT - 1e-6 for gap in gaps)
    assert all(height <= 350 for height in found)
    assert all(math.isfinite(height) for height in found)
