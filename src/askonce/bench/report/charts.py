"""What charts show, as plain values: a figure makes one, and ``drawing`` draws it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

Point = tuple[float, float]


class Axis(NamedTuple):
    """The title of an axis and how values are laid out along it."""

    title: str
    log: bool = False
    integer: bool = False  # grid lines at whole numbers only
    names: Sequence[str] = ()  # tick labels at 0, 1, 2, … instead of numbers


class Series(NamedTuple):
    """A named line; ``errors`` are half the heights of its error bars."""

    name: str
    points: Sequence[Point]
    errors: Sequence[float] = ()
    dotted: bool = False


@dataclass(frozen=True)
class LineChart:
    """Lines with their names at the right; references are dashed horizontal lines."""

    series: Sequence[Series]
    x: Axis
    y: Axis
    references: Mapping[str, float] = field(default_factory=dict)


class Bar(NamedTuple):
    name: str
    value: float
    text: str
    highlighted: bool = False


@dataclass(frozen=True)
class BarChart:
    """Horizontal bars from zero, first on top."""

    bars: Sequence[Bar]
    title: str


class Panel(NamedTuple):
    """A small chart of unnamed lines, with some points marked."""

    name: str
    lines: Sequence[Sequence[Point]]
    marked: Sequence[Point] = ()


@dataclass(frozen=True)
class PanelChart:
    """Small charts side by side, all on the same scales."""

    panels: Sequence[Panel]
    x: Axis
    y: Axis


class Dot(NamedTuple):
    """A named point; ``kind`` gives its colour."""

    name: str
    x: float
    y: float
    kind: str


@dataclass(frozen=True)
class ScatterChart:
    """Named points, x on a logarithmic axis; one plot below the other for each title of x."""

    dots: Mapping[str, Sequence[Dot]]
    y_title: str


@dataclass(frozen=True)
class HistogramChart:
    """A panel for each title; the groups of a panel overlap."""

    panels: Mapping[str, Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class HeatMap:
    """A coloured cell per pair of words: blue above zero, red below."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]


class Cloud(NamedTuple):
    """Points (N, 2) or (N, 3), the group of each, and pairs of points joined by a line."""

    title: str
    points: np.ndarray
    groups: np.ndarray  # (N,), indices into ``names``
    names: Sequence[str]
    lines: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class CloudChart:
    """Clouds of two dimensions side by side."""

    clouds: Sequence[Cloud]


Chart = LineChart | BarChart | PanelChart | ScatterChart | HistogramChart | HeatMap | CloudChart
