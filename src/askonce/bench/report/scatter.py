"""A scatter plot with names."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from askonce.bench.report.axes import KINDS, NAME_HEIGHT, Axis, Frame, Scale, drawing, grid, text

FRAME = Frame()


class Dot(NamedTuple):
    """A named point; ``kind`` gives its colour."""

    name: str
    x: float
    y: float
    kind: str


def scatter(dots: Sequence[Dot], x_title: str, y_title: str) -> str:
    """The plot: x on a logarithmic axis, y on a plain one."""
    xs = Scale.over([dot.x for dot in dots], Axis(x_title, log=True))
    ys = Scale.over([dot.y for dot in dots], Axis(y_title))
    places = [(FRAME.x(xs.share(dot.x)), FRAME.y(ys.share(dot.y))) for dot in dots]
    drawn = [
        _dot(dot, x, y, name_y)
        for dot, (x, y), name_y in zip(dots, places, _name_heights(places), strict=True)
    ]
    legend = _legend({dot.kind for dot in dots})
    return drawing(FRAME.width, FRAME.height, [*grid(FRAME, xs, ys), *drawn, legend])


def _dot(dot: Dot, x: float, y: float, name_y: float) -> str:
    colour = KINDS[dot.kind]
    title = f"<title>{escape(dot.name)}: {dot.y:.4f} at {dot.x:,.0f}</title>"
    line = (
        f'<path d="M{x:.1f} {y:.1f}L{x + 8:.1f} {name_y - 3:.1f}" stroke="{colour}" opacity=".5"/>'
    )
    return (
        f'<g>{title}<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>{line}'
        f"{text(x + 9, name_y, dot.name)}</g>"
    )


def _name_heights(places: Sequence[tuple[float, float]]) -> list[float]:
    """Heights of names such that those of near points do not cover each other."""
    taken: list[tuple[float, float]] = []
    heights = [0.0] * len(places)
    for index in sorted(range(len(places)), key=lambda i: places[i][1]):
        x, y = places[index][0], places[index][1] + 4
        while any(
            abs(x - other_x) < 150 and abs(y - other_y) < NAME_HEIGHT for other_x, other_y in taken
        ):
            y += 2
        taken.append((x, y))
        heights[index] = y
    return heights


def _legend(kinds: set[str]) -> str:
    parts = []
    for place, kind in enumerate(kind for kind in KINDS if kind in kinds):
        y = FRAME.top + 10 + 16 * place
        parts.append(f'<circle cx="{FRAME.width - 90}" cy="{y}" r="4" fill="{KINDS[kind]}"/>')
        parts.append(text(FRAME.width - 80, y + 4, kind))
    return "".join(parts)
