"""Names beside points, none over another; positions are in pixels."""

from collections.abc import Sequence
from itertools import pairwise

from matplotlib.axes import Axes

LABEL_GAP = 12  # between the base lines of two labels


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
