"""Line charts and bars."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from askonce.bench.report.axes import COLOURS, Axis, Frame, Scale, drawing, grid, spread, text

LINES = Frame(width=860, height=400, right=210)
PANEL = Frame(width=287, height=160, left=38, right=8, top=22, bottom=34)
PANELS_ACROSS, PANEL_NAME = 3, 42  # charts in a row, letters of a name that fit above one
BAR_HEIGHT, BAR_STEP, BAR_NAMES, BAR_VALUES = 14, 21, 340, 110
NO_REFERENCES: Mapping[str, float] = {}


class Series(NamedTuple):
    """A named line; ``errors`` are half the heights of its points' error bars."""

    name: str
    points: Sequence[tuple[float, float]]
    errors: Sequence[float] = ()
    dotted: bool = False


class Bar(NamedTuple):
    """A named bar and what is written at its end."""

    name: str
    value: float
    shown: str
    colour: str = COLOURS[0]


class Panel(NamedTuple):
    """A small chart of unnamed lines, and the points of them that matter."""

    name: str
    lines: Sequence[Sequence[tuple[float, float]]]
    marked: Sequence[tuple[float, float]] = ()


def line_chart(
    lines: Sequence[Series], x: Axis, y: Axis, references: Mapping[str, float] = NO_REFERENCES
) -> str:
    """Lines with their names at the right; references are dashed lines of one height."""
    xs = Scale.over([point[0] for line in lines for point in line.points], x)
    ys = Scale.over([*_heights(lines, y), *references.values()], y)
    drawn = [_series(LINES, xs, ys, line, _colour(n)) for n, line in enumerate(lines)]
    drawn += [_reference(LINES.y(ys.share(value))) for value in references.values()]
    ends = [_end(LINES, xs, ys, line) for line in lines]
    ends += [(LINES.x(1.0), LINES.y(ys.share(value))) for value in references.values()]
    colours = [*(_colour(n) for n in range(len(lines))), *["currentColor"] * len(references)]
    names = [*(line.name for line in lines), *references]
    return drawing(
        LINES.width, LINES.height, [*grid(LINES, xs, ys), *drawn, *_names(names, ends, colours)]
    )


def bar_chart(bars: Sequence[Bar], title: str) -> str:
    """Bars from zero, one below the other in their order."""
    frame = Frame(860, len(bars) * BAR_STEP + 45, BAR_NAMES, BAR_VALUES, 20, 25)
    longest = max([bar.value for bar in bars if bar.value > 0], default=1.0)
    parts = [text(frame.left, 12, title)]
    for place, bar in enumerate(bars):
        y = frame.top + place * BAR_STEP
        width = frame.x(max(bar.value, 0.0) / longest) - frame.left
        parts.append(
            f"<g><title>{escape(bar.name)}: {escape(bar.shown)}</title>"
            f'<rect x="{frame.left:g}" y="{y:g}" width="{width:.1f}" height="{BAR_HEIGHT}" '
            f'fill="{bar.colour}"/>{text(frame.left - 8, y + 11, bar.name, "end")}'
            f"{text(frame.left + width + 6, y + 11, bar.shown)}</g>"
        )
    return drawing(frame.width, frame.height - 20, parts)


def panels(charts: Sequence[Panel], x: Axis, y: Axis) -> str:
    """Small charts beside each other, all on the same scales."""
    points = [point for chart in charts for line in chart.lines for point in line]
    xs = Scale.over([point[0] for point in points], x)
    ys = Scale.over([point[1] for point in points], y._replace(title=""))
    rows = math.ceil(len(charts) / PANELS_ACROSS)
    parts = [text(8, 12, y.title)]
    for place, chart in enumerate(charts):
        row, column = divmod(place, PANELS_ACROSS)
        inside = "".join([*grid(PANEL, xs, ys), *_panel(chart, xs, ys)])
        left, top = column * PANEL.width, row * PANEL.height + 18
        parts.append(f'<g transform="translate({left:g} {top:g})">{inside}</g>')
    return drawing(PANELS_ACROSS * PANEL.width, rows * PANEL.height + 18, parts)


def _panel(chart: Panel, xs: Scale, ys: Scale) -> list[str]:
    paths = [
        _path([(PANEL.x(xs.share(x)), PANEL.y(ys.share(y))) for x, y in line], _colour(n))
        for n, line in enumerate(chart.lines)
    ]
    dots = [
        f'<circle cx="{PANEL.x(xs.share(x)):.1f}" cy="{PANEL.y(ys.share(y)):.1f}" r="3"/>'
        for x, y in chart.marked
    ]
    fits = len(chart.name) <= PANEL_NAME
    name = chart.name if fits else f"{chart.name[: PANEL_NAME - 1]}…"
    title = f"<title>{escape(chart.name)}</title>"
    return [title, text(PANEL.left, PANEL.top - 8, name), *paths, *dots]


def _series(frame: Frame, xs: Scale, ys: Scale, line: Series, colour: str) -> str:
    places = [(frame.x(xs.share(x)), frame.y(ys.share(y))) for x, y in line.points]
    parts = [f"<title>{escape(line.name)}</title>", _path(places, colour, line.dotted)]
    for (x, y), (_, value), error in zip(
        places, line.points, line.errors or [0.0] * len(places), strict=True
    ):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
        if error:
            low, high = (frame.y(ys.share(end)) for end in _ends(value, error, ys.axis))
            parts.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{colour}"/>')
    return f"<g>{''.join(parts)}</g>"


def _path(places: Sequence[tuple[float, float]], colour: str, dotted: bool = False) -> str:
    steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dashes = ' stroke-dasharray="2 3"' if dotted else ""
    return f'<path d="M{steps}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>'


def _reference(y: float) -> str:
    path = f"M{LINES.left:g} {y:.1f}H{LINES.width - LINES.right:g}"
    return f'<path d="{path}" stroke="currentColor" stroke-dasharray="6 4" opacity=".6"/>'


def _names(
    names: Sequence[str], ends: Sequence[tuple[float, float]], colours: Sequence[str]
) -> list[str]:
    """Each name right of the plot, with a thin line from the end of what it names."""
    edge = LINES.width - LINES.right + 14
    heights = spread([y + 4 for _, y in ends], LINES.height - LINES.bottom)
    return [
        f'<path d="M{x:.1f} {y:.1f}L{edge:g} {height - 4:.1f}" stroke="{colour}" opacity=".4"/>'
        f"{text(edge + 3, height, name)}"
        for name, (x, y), height, colour in zip(names, ends, heights, colours, strict=True)
    ]


def _end(frame: Frame, xs: Scale, ys: Scale, line: Series) -> tuple[float, float]:
    x, y = line.points[-1]
    return frame.x(xs.share(x)), frame.y(ys.share(y))


def _heights(lines: Sequence[Series], axis: Axis) -> list[float]:
    """All values, with the ends of their error bars."""
    return [
        end
        for line in lines
        for (_, value), error in zip(
            line.points, line.errors or [0.0] * len(line.points), strict=True
        )
        for end in _ends(value, error, axis)
    ]


def _ends(value: float, error: float, axis: Axis) -> tuple[float, float]:
    """Both ends of an error bar; on a logarithmic axis the lower one stays above zero."""
    low = value - error
    return (max(low, value / 10) if axis.log else low), value + error


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]
