"""A scatter plot with names, as SVG that follows the page's colours."""

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 860, 460
LEFT, RIGHT, TOP, BOTTOM = 60, 150, 15, 45
LINE = 12  # height of a name
# readable on white and on black
COLOURS = {
    "baseline": "#8a8a8a",
    "transformer": "#d08700",
    "trained": "#2f7ed8",
    "fusion": "#2e9e5b",
}


class Dot(NamedTuple):
    """A named point; ``kind`` gives its colour."""

    name: str
    x: float
    y: float
    kind: str


def scatter(dots: Sequence[Dot], x_title: str, y_title: str) -> str:
    """The plot: x on a logarithmic axis, y on a plain one."""
    xs, ys = _log_axis([dot.x for dot in dots]), _axis([dot.y for dot in dots])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="11" fill="currentColor">'
    ]
    parts += [_vertical(x, _place(math.log10(x), xs, LEFT, WIDTH - RIGHT)) for x in _decades(xs)]
    parts += [_horizontal(y, _place(y, ys, HEIGHT - BOTTOM, TOP)) for y in _steps(ys)]
    places = [
        (
            _place(math.log10(dot.x), xs, LEFT, WIDTH - RIGHT),
            _place(dot.y, ys, HEIGHT - BOTTOM, TOP),
        )
        for dot in dots
    ]
    for dot, (x, y), name_y in zip(dots, places, _spread(places), strict=True):
        parts.append(_dot(dot, x, y, name_y))
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
        f"{escape(x_title)}</text>"
    )
    parts.append(f'<text x="8" y="{TOP + 4}">{escape(y_title)}</text>')
    return "".join([*parts, _legend({dot.kind for dot in dots}), "</svg>"])


def _dot(dot: Dot, x: float, y: float, name_y: float) -> str:
    colour = COLOURS[dot.kind]
    title = f"<title>{escape(dot.name)}: {dot.y:.4f} at {dot.x:,.0f}</title>"
    line = (
        f'<path d="M{x:.1f} {y:.1f}L{x + 8:.1f} {name_y - 3:.1f}" stroke="{colour}" opacity=".5"/>'
    )
    return (
        f'<g>{title}<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>{line}'
        f'<text x="{x + 9:.1f}" y="{name_y:.1f}">{escape(dot.name)}</text></g>'
    )


def _spread(places: Sequence[tuple[float, float]]) -> list[float]:
    """Heights of names such that those of near points do not cover each other."""
    taken: list[tuple[float, float]] = []
    heights = [0.0] * len(places)
    for index in sorted(range(len(places)), key=lambda i: places[i][1]):
        x, y = places[index][0], places[index][1] + 4
        while any(abs(x - other_x) < 150 and abs(y - other_y) < LINE for other_x, other_y in taken):
            y += 2
        taken.append((x, y))
        heights[index] = y
    return heights


def _axis(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = max(high - low, 0.02) * 0.06
    return low - room, high + room


def _log_axis(values: Sequence[float]) -> tuple[float, float]:
    low, high = _axis([math.log10(value) for value in values])
    return low, max(high, low + 0.5)


def _place(value: float, axis: tuple[float, float], start: float, end: float) -> float:
    return start + (value - axis[0]) / (axis[1] - axis[0]) * (end - start)


def _decades(axis: tuple[float, float]) -> list[float]:
    return [10.0**power for power in range(math.ceil(axis[0]), math.floor(axis[1]) + 1)]


def _steps(axis: tuple[float, float]) -> list[float]:
    span = axis[1] - axis[0]
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if span / s <= 8 or s == 1.0)
    first = math.ceil(axis[0] / step)
    return [step * n for n in range(first, math.floor(axis[1] / step) + 1)]


def _vertical(value: float, x: float) -> str:
    return (
        f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="currentColor" opacity=".15"/>'
        f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{value:,.0f}</text>'
    )


def _horizontal(value: float, y: float) -> str:
    return (
        f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="currentColor" opacity=".15"/>'
        f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>'
    )


def _legend(kinds: set[str]) -> str:
    parts = []
    for place, kind in enumerate(kind for kind in COLOURS if kind in kinds):
        y = TOP + 10 + 16 * place
        parts.append(f'<circle cx="{WIDTH - 90}" cy="{y}" r="4" fill="{COLOURS[kind]}"/>')
        parts.append(f'<text x="{WIDTH - 80}" y="{y + 4}">{kind}</text>')
    return "".join(parts)
