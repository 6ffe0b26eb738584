"""Draw charts with matplotlib, as SVG whose text stays text and whose colours follow the page.

Sizes are in pixels. Import this module only where a report is made: matplotlib takes a while to
load.
"""

import math
import re
import warnings
from collections.abc import Sequence
from functools import singledispatch
from html import escape
from io import StringIO
from itertools import pairwise, product
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter

from askonce.bench.report import charts

# of rows by their kind, and of lines; readable on white and on black
KINDS = {"baseline": "#8a8a8a", "transformer": "#d08700", "trained": "#2f7ed8", "fusion": "#2e9e5b"}
COLOURS = (
    "#2f7ed8", "#d08700", "#2e9e5b", "#d1495b", "#8e6bbf", "#009e9e", "#c46ba5", "#8a8a8a",
    "#a0702c", "#7a9a01",
)  # fmt: skip
BLUE, RED = COLOURS[0], COLOURS[3]
GROUP_COLOURS, GROUP_RADII = (COLOURS[3], COLOURS[2], COLOURS[7]), (4, 3, 2)
WIDTH = 860  # of most charts
PANELS_ACROSS, PANEL_TITLE, BINS = 3, 42, 40
MIN_RANGE = 0.02  # of a linear axis, so that noise does not fill it
INK = "#010203"  # stands for the text colour of the page until the SVG is written
LABEL_GAP = 12  # between the base lines of two labels
TICK_SIZES = [f"{axis}tick.{kind}.size" for axis in "xy" for kind in ("major", "minor")]
INKED = ("axes.labelcolor", "grid.color", "text.color", "xtick.color", "ytick.color")
STYLE: Any = {  # matplotlib types its keys as literals
    **dict.fromkeys(TICK_SIZES, 0),
    **dict.fromkeys(("axes.edgecolor", "axes.facecolor", "figure.facecolor"), "none"),
    **dict.fromkeys(INKED, INK),
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.xmargin": 0.06,
    "axes.ymargin": 0.06,
    "figure.dpi": 72,  # one point is one pixel
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 11,
    "grid.alpha": 0.15,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "askonce",  # the same chart gives the same file
    "text.parse_math": False,  # a word may hold dollar signs
}
# Ids that two charts of a page would share, clips that clip nothing, idle rotations, indents.
NEEDLESS = re.compile(
    r' id="[\w.]+_\d+"| clip-path="[^"]*"|<clipPath.*?</clipPath>| transform="rotate\(-0 [^"]*"'
    r"|(?<=\n) +",
    re.S,
)


def svg(chart: charts.Chart, title: str) -> str:
    """The chart as an SVG element with the title as its accessible name."""
    with rc_context(STYLE), warnings.catch_warnings():
        # the reader's browser chooses the font: glyphs that matplotlib's lacks do not matter
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        written = StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        draw(chart).savefig(written, format="svg", metadata=nothing)
    text = written.getvalue()
    text = text[text.index("<svg") :].rstrip().replace(INK, "currentColor")
    text = re.sub(r'(width|height)="([\d.]+)pt"', r'\1="\2"', text, count=2)
    tips = re.compile(r'<g id="tip([0-9a-f]*)">')
    text = tips.sub(lambda tip: f"<g><title>{escape(bytes.fromhex(tip[1]).decode())}</title>", text)
    text = NEEDLESS.sub("", text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)


@singledispatch
def draw(chart: charts.Chart) -> Figure:
    raise TypeError(f"no chart: {chart!r}")


@draw.register(charts.LineChart)
def _line_chart(chart: charts.LineChart) -> Figure:
    figure, axes = _figure(WIDTH, 400, left=60, right=210, top=26, bottom=45)
    _set_scales(axes, chart.x, chart.y)
    for n, series in enumerate(chart.series):
        xs, ys = zip(*series.points, strict=True)
        (line,) = axes.plot(xs, ys, "o:" if series.dotted else "o-", color=_colour(n))
        _tip(line, series.name)
        if any(series.errors):
            # on a logarithmic axis the lower end stays above zero
            pairs = zip(series.errors, ys, strict=True)
            below = [min(e, 0.9 * y) if chart.y.log else e for e, y in pairs]
            axes.errorbar(xs, ys, [below, list(series.errors)], fmt="none", color=_colour(n))
    for value in chart.references.values():
        axes.axhline(value, color=INK, alpha=0.6, linestyle=(0, (6, 4)), linewidth=1)
    _set_ticks(axes, chart.x, chart.y)
    end = axes.get_xlim()[1]
    labels = [(s.name, s.points[-1], _colour(n)) for n, s in enumerate(chart.series)]
    labels += [(name, (end, value), INK) for name, value in chart.references.items()]
    heights = separated([axes.transData.transform(point)[1] for _, point, _ in labels], 374)
    for (name, point, colour), height in zip(labels, heights, strict=True):
        label_point(axes, name, point, (WIDTH - 196, height), colour)
    return figure


@draw.register(charts.BarChart)
def _bar_chart(chart: charts.BarChart) -> Figure:
    figure, axes = _figure(WIDTH, 21 * len(chart.bars) + 30, left=340, right=110, top=20, bottom=5)
    axes.set(title=chart.title, xticks=[])
    axes.grid(visible=False)
    positions = range(len(chart.bars))
    drawn = axes.barh(
        positions,
        [max(bar.value, 0.0) for bar in chart.bars],
        height=14 / 21,
        color=[COLOURS[bar.highlighted] for bar in chart.bars],
    )
    axes.bar_label(drawn, [bar.text for bar in chart.bars], padding=6)
    for rectangle, bar in zip(drawn, chart.bars, strict=True):
        _tip(rectangle, f"{bar.name}: {bar.text}")
    axes.set_yticks(positions, [bar.name for bar in chart.bars])
    axes.set_ylim(len(chart.bars) - 0.5, -0.5)
    axes.set_xlim(0, max([bar.value for bar in chart.bars if bar.value > 0], default=1.0))
    return figure


@draw.register(charts.PanelChart)
def _panel_chart(chart: charts.PanelChart) -> Figure:
    rows = math.ceil(len(chart.panels) / PANELS_ACROSS)
    height = 160 * rows + 18
    figure = Figure(figsize=(WIDTH / 72, height / 72))
    figure.text(8 / WIDTH, 1 - 12 / height, chart.y.title)
    grid = figure.subplots(rows, PANELS_ACROSS, sharex=True, sharey=True, squeeze=False)
    figure.subplots_adjust(
        38 / WIDTH, 34 / height, 1 - 8 / WIDTH, 1 - 40 / height, 46 / 241, 0.54 if rows > 1 else 0
    )
    for axes, panel in zip(grid.flat, chart.panels, strict=False):
        _set_scales(axes, chart.x, chart.y)
        axes.tick_params(labelbottom=True, labelleft=True)
        for n, points in enumerate(panel.lines):
            axes.plot(*zip(*points, strict=True), color=_colour(n))
        for x, y in panel.marked:
            axes.plot([x], [y], "o", color=INK)
        fits = len(panel.name) <= PANEL_TITLE
        name = panel.name if fits else f"{panel.name[: PANEL_TITLE - 1]}…"
        _tip(axes.set_title(name), panel.name)
    _set_ticks(grid.flat[0], chart.x, chart.y)
    for axes in grid.flat[len(chart.panels) :]:
        axes.remove()
    return figure


@draw.register(charts.ScatterChart)
def _scatter_chart(chart: charts.ScatterChart) -> Figure:
    each, left, right, top, bottom = 460, 60, 150, 26, 45
    height = each * len(chart.dots)
    figure = Figure(figsize=(WIDTH / 72, height / 72))
    inside = (WIDTH - left - right) / WIDTH, (each - top - bottom) / height
    for below, (x_title, dots) in enumerate(reversed(list(chart.dots.items()))):
        axes = figure.add_axes((left / WIDTH, (each * below + bottom) / height, *inside))
        x, y = charts.Axis(x_title, log=True), charts.Axis(chart.y_title)
        _set_scales(axes, x, y)
        for dot in dots:
            (drawn,) = axes.plot([dot.x], [dot.y], "o", color=KINDS[dot.kind], markersize=8)
            _tip(drawn, f"{dot.name}: {dot.y:.4f} at {dot.x:,.0f}")
        _set_ticks(axes, x, y)
        positions = axes.transData.transform([(dot.x, dot.y) for dot in dots]).tolist()
        for dot, (at, _), level in zip(dots, positions, label_heights(positions), strict=True):
            label_point(axes, dot.name, (dot.x, dot.y), (at + 9, level), KINDS[dot.kind])
    shown = {dot.kind for dots in chart.dots.values() for dot in dots}
    kinds = [kind for kind in KINDS if kind in shown]
    handles = [axes.plot([], [], "o", color=KINDS[kind], label=kind)[0] for kind in kinds]
    figure.legend(handles=handles, loc="upper right", bbox_to_anchor=(1, 1 - 18 / height))
    return figure


@draw.register(charts.HistogramChart)
def _histogram_chart(chart: charts.HistogramChart) -> Figure:
    width = 480 * len(chart.panels)
    figure = Figure(figsize=(width / 72, 280 / 72))
    grid = figure.subplots(1, len(chart.panels), squeeze=False)
    figure.subplots_adjust(56 / width, 42 / 280, 1 - 14 / width, 1 - 34 / 280, 70 / 410)
    for axes, (title, groups) in zip(grid.flat, chart.panels.items(), strict=True):
        every = np.concatenate(list(groups.values()))
        # the highest hundredth is counted in the last bar
        edges = np.linspace(0, float(np.quantile(every, 0.99)) * 1.02 or 1.0, BINS + 1)
        for n, (name, values) in enumerate(groups.items()):
            share = np.histogram(np.minimum(values, edges[-1]), edges)[0] / len(values)
            label = f"{name} ({len(values):,})"
            axes.stairs(share, edges, fill=True, color=COLOURS[n], alpha=0.35, label=label)
            axes.stairs(share, edges, color=COLOURS[n])
        axes.set(title="share", xlabel=title)
        axes.margins(y=0.2)  # room for the legend
        axes.legend(loc="upper right")
    return figure


@draw.register(charts.HeatMap)
def _heat_map(chart: charts.HeatMap) -> Figure:
    cell, letter = 20, 6.7
    left = max(map(len, chart.rows)) * letter + 12
    top = max(map(len, chart.columns)) * letter + 12
    width = left + cell * len(chart.columns) + 12
    height = top + cell * len(chart.rows) + 12
    figure, axes = _figure(width, height, left=left, right=12, top=top, bottom=12)
    axes.grid(visible=False)
    most = max((abs(value) for row in chart.values for value in row), default=0.0) or 1.0
    for (y, row), (x, column) in product(enumerate(chart.rows), enumerate(chart.columns)):
        value = chart.values[y][x]
        colour, alpha = BLUE if value >= 0 else RED, 0.03 + 0.92 * abs(value) / most
        square = Rectangle((x, y), 0.95, 0.95, facecolor=colour, alpha=alpha, linewidth=0)
        _tip(axes.add_patch(square), f"{row} · {column} {value:.4f}")
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(len(chart.columns)) + 0.5, chart.columns, rotation=90)
    axes.set_yticks(np.arange(len(chart.rows)) + 0.5, chart.rows)
    axes.set(xlim=(0, len(chart.columns)), ylim=(len(chart.rows), 0))
    return figure


@draw.register(charts.CloudChart)
def _cloud_chart(chart: charts.CloudChart) -> Figure:
    columns = max(len(chart.clouds), 2)
    figure = Figure(figsize=((480 * columns - 20) / 72, 486 / 72))
    grid = figure.subplots(1, columns, squeeze=False)
    figure.subplots_adjust(0, 0, 1, 1 - 26 / 486, 20 / 460)
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, cloud in zip(grid.flat, chart.clouds, strict=False):
        _draw_cloud(axes, cloud)
    return figure


def _figure(
    width: float, height: float, *, left: float, right: float, top: float, bottom: float
) -> tuple[Figure, Axes]:
    """A figure with one plot; all sizes in pixels."""
    figure = Figure(figsize=(width / 72, height / 72))
    inside = (width - left - right) / width, (height - top - bottom) / height
    return figure, figure.add_axes((left / width, bottom / height, *inside))


def _set_scales(axes: Axes, x: charts.Axis, y: charts.Axis) -> None:
    scales = ["log" if axis.log else "linear" for axis in (x, y)]
    axes.set(xlabel=x.title, title=y.title, xscale=scales[0], yscale=scales[1])


def _set_ticks(axes: Axes, x: charts.Axis, y: charts.Axis) -> None:
    """Fit the axes to what was drawn, then choose their grid lines."""
    axes.autoscale_view()
    for drawn, axis in ((axes.xaxis, x), (axes.yaxis, y)):
        low, high = drawn.get_view_interval()
        if axis.names:
            drawn.set_ticks(range(len(axis.names)), axis.names)
        elif axis.log:
            subs = (1, 2, 5) if high / low < 1000 else (1,)
            drawn.set_major_locator(LogLocator(subs=subs))
            drawn.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
            drawn.set_minor_formatter(NullFormatter())
        else:
            room = max(0.0, (2 if axis.integer else MIN_RANGE) - (high - low)) / 2
            drawn.set_view_interval(low - room, high + room, ignore=True)
            drawn.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10], integer=axis.integer))
            formatter = ScalarFormatter(useOffset=False)
            formatter.set_scientific(False)
            drawn.set_major_formatter(formatter)


def _draw_cloud(axes: Axes, cloud: charts.Cloud) -> None:
    for a, b in cloud.lines:
        axes.plot(*cloud.points[[a, b]].T, color=BLUE, alpha=0.45, linewidth=0.7)
    for group in reversed(range(len(cloud.names))):  # the first group lies on top
        x, y = cloud.points[cloud.groups == group].T
        size = (2 * GROUP_RADII[group]) ** 2
        axes.scatter(
            x, y, size, GROUP_COLOURS[group], label=cloud.names[group], linewidths=0, zorder=3
        )
    axes.set_aspect("equal", adjustable="datalim")  # a tall cloud keeps the width of its legend
    axes.invert_yaxis()
    axes.set_title(cloud.title, fontweight="bold")
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], ncols=3, loc="lower right", bbox_to_anchor=(1, 0.985))


def _tip(artist: Artist, text: str) -> None:
    """Show a text while the pointer is over the artist."""
    artist.set_gid(f"tip{text.encode().hex()}")  # SVG keeps it as an id


def _colour(n: int) -> str:
    return COLOURS[n % len(COLOURS)]


def separated(heights: Sequence[float], limit: float) -> list[float]:
    """Heights of labels near the given ones, none over another, none beyond the limit."""
    order = sorted(range(len(heights)), key=lambda n: heights[n])
    placed = list(heights)
    for below, n in pairwise(order):
        placed[n] = max(placed[n], placed[below] + LABEL_GAP)
    for n in reversed(order):
        placed[n] = min(placed[n], limit)
        limit = placed[n] - LABEL_GAP
    return placed


def label_heights(positions: Sequence[tuple[float, float]]) -> list[float]:
    """Heights at which the labels of nearby points do not cover each other."""
    taken: list[tuple[float, float]] = []
    heights = [0.0] * len(positions)
    for n in sorted(range(len(positions)), key=lambda n: -positions[n][1]):
        x, y = positions[n]
        while any(abs(x - a) < 150 and abs(y - b) < LABEL_GAP for a, b in taken):
            y -= 2
        taken.append((x, y))
        heights[n] = y
    return heights


def label_point(
    axes: Axes, name: str, point: tuple[float, float], position: tuple[float, float], colour: str
) -> None:
    """A name at a position in pixels, with a thin line from the point it belongs to."""
    axes.annotate(
        name,
        point,
        position,
        textcoords="figure points",
        va="center",
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-", "color": colour, "alpha": 0.4, "shrinkA": 0, "shrinkB": 0,
            "relpos": (0, 0.5), "linewidth": 1,
        },
    )  # fmt: skip
