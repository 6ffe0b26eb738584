"""What drawings share: frames, scales, grid lines and colours, as SVG that follows the page's."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

NAME_HEIGHT = 12
# of rows by their kind, and of lines; readable on white and on black
KINDS = {
    "baseline": "#8a8a8a",
    "transformer": "#d08700",
    "trained": "#2f7ed8",
    "fusion": "#2e9e5b",
}
COLOURS = (
    "#2f7ed8", "#d08700", "#2e9e5b", "#d1495b", "#8e6bbf", "#009e9e", "#c46ba5", "#8a8a8a",
    "#a0702c", "#7a9a01",
)  # fmt: skip


class Frame(NamedTuple):
    """Where the plot stands in its drawing."""

    width: float = 860
    height: float = 460
    left: float = 60
    right: float = 150
    top: float = 26
    bottom: float = 45

    def x(self, share: float) -> float:
        """The place of a share of the width."""
        return self.left + share * (self.width - self.left - self.right)

    def y(self, share: float) -> float:
        """The place of a share of the height, from below."""
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)


class Axis(NamedTuple):
    """What stands beside an axis, and how values are spread along it."""

    title: str
    log: bool = False
    least: float = 0.01  # between grid lines
    names: Sequence[str] = ()  # of the places 0, 1, 2 …, instead of numbers


class Scale(NamedTuple):
    """From values to shares of an axis; low and high are powers of ten on a logarithmic one."""

    low: float
    high: float
    axis: Axis

    @classmethod
    def over(cls, values: Iterable[float], axis: Axis) -> "Scale":
        """The scale that has room for all values."""
        found = [math.log10(value) if axis.log else value for value in values]
        low, high = min(found), max(found)
        room = max(high - low, 0.5 if axis.log else 2 * axis.least) * 0.06
        return cls(low - room, high + room, axis)

    def share(self, value: float) -> float:
        """How far along the axis a value is, 0 to 1."""
        value = math.log10(value) if self.axis.log else value
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Where grid lines are, and what is written at them."""
        if self.axis.names:
            return [(float(place), name) for place, name in enumerate(self.axis.names)]
        if self.axis.log:
            return [(value, f"{value:,g}") for value in self._powers()]
        step = _step(self.high - self.low, self.axis.least)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        digits = max(0, math.ceil(-math.log10(step) - 1e-9))
        return [(step * n, f"{step * n:,.{digits}f}") for n in range(first, last + 1)]

    def _powers(self) -> list[float]:
        between = (1, 2, 5) if self.high - self.low < 3 else (1,)
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        found = [number * 10.0**power for power in powers for number in between]
        return [value for value in found if self.low <= math.log10(value) <= self.high]


def drawing(width: float, height: float, parts: Iterable[str]) -> str:
    """The whole drawing."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'font-family="sans-serif" font-size="11" fill="currentColor">{"".join(parts)}</svg>'
    )


def grid(frame: Frame, xs: Scale, ys: Scale) -> list[str]:
    """Grid lines with their numbers, and the titles of both axes."""
    middle = (frame.left + frame.width - frame.right) / 2
    return [
        *(_vertical(frame, frame.x(xs.share(value)), text) for value, text in xs.ticks()),
        *(_horizontal(frame, frame.y(ys.share(value)), text) for value, text in ys.ticks()),
        text(middle, frame.height - 8, xs.axis.title, "middle"),
        text(8, frame.top - 12, ys.axis.title),
    ]


def text(x: float, y: float, shown: str, anchor: str = "start") -> str:
    """A short text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(shown)}</text>'


def spread(heights: Sequence[float], lowest: float) -> list[float]:
    """Heights of names near those wanted, none on another; none below the lowest if there is room.

    Heights count from above, as SVG has it.
    """
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    found = list(heights)
    for above, place in pairwise(order):
        found[place] = max(found[place], found[above] + NAME_HEIGHT)
    limit = lowest
    for place in reversed(order):
        found[place] = min(found[place], limit)
        limit = found[place] - NAME_HEIGHT
    return found


def _step(span: float, least: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that gives eight grid lines or fewer."""
    power = math.floor(math.log10(span / 8))
    steps = (number * 10.0**p for p in (power, power + 1) for number in (1, 2, 5))
    return max(next(step for step in steps if span / step <= 8), least)


def _vertical(frame: Frame, x: float, shown: str) -> str:
    foot = frame.height - frame.bottom
    return _line(f"M{x:.1f} {frame.top:g}V{foot:g}") + text(x, foot + 15, shown, "middle")


def _horizontal(frame: Frame, y: float, shown: str) -> str:
    path = f"M{frame.left:g} {y:.1f}H{frame.width - frame.right:g}"
    return _line(path) + text(frame.left - 6, y + 4, shown, "end")


def _line(path: str) -> str:
    return f'<path d="{path}" stroke="currentColor" opacity=".15"/>'
