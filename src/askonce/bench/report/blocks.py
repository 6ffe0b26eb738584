"""What a report is made of, as plain values; ``document`` renders them as HTML and Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

from askonce.bench.report.charts import Chart, Cloud

MAX_WORDS = 60  # of a text, in a strip
PALEST, DARKEST = 0.06, 0.8  # opacity of the smallest and the largest weight
Range = tuple[float, float]


class Span(NamedTuple):
    text: str
    mark: Literal["", "bold", "under"] = ""


Cell = str | Sequence[Span]  # spans are joined by spaces


def number_text(value: float | None, form: str = ",.0f") -> str:
    """A number of a cell; a dash where there is none."""
    return "–" if value is None else f"{value:{form}}"


@dataclass(frozen=True)
class Block:
    """A titled part of the report; ``about`` says how to read it."""

    kind: ClassVar[str]
    title: str
    about: str
    # the dataset whose texts it shows, which not everyone may redistribute; "" if none
    quotes: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Table(Block):
    """A table; the first column names the row, a row of one cell is a heading."""

    kind = "table"
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Plot(Block):
    kind = "plot"
    chart: Chart


@dataclass(frozen=True)
class RotatingClouds(Block):
    """Clouds of three dimensions that the reader can rotate; Markdown gets the first view."""

    kind = "clouds"
    clouds: Sequence[Cloud]


@dataclass(frozen=True)
class Strip:
    """The words of one text, and their weights under each name (a gate, an attention)."""

    label: str
    words: Sequence[str]
    weights: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Strips(Block):
    """Words shaded by weight, in groups with a heading.

    ``scale`` gives the range from pale to dark of each name; without one, shades go from zero to
    the largest weight of the strip.
    """

    kind = "strips"
    groups: Sequence[tuple[str, Sequence[Strip]]]
    scale: Mapping[str, Range] = field(default_factory=dict)

    def shades(self, strip: Strip) -> list[tuple[str, list[tuple[str, float, float]]]]:
        """Each word with the name, weight and opacity of each of its weights."""
        words = strip.words[:MAX_WORDS]
        ranges = {
            name: self.scale.get(name, (0.0, max(values[:MAX_WORDS], default=1.0)))
            for name, values in strip.weights.items()
        }
        return [
            (
                word,
                [
                    (name, values[n], opacity(values[n], *ranges[name]))
                    for name, values in strip.weights.items()
                ],
            )
            for n, word in enumerate(words)
        ]


def opacity(weight: float, low: float, high: float) -> float:
    """From pale to dark within the range; zero, which means no weight, is transparent."""
    share = min(max((weight - low) / (high - low or 1), 0), 1)
    return PALEST + (DARKEST - PALEST) * share if weight else 0.0


def common_scale(groups: Sequence[tuple[str, Sequence[Strip]]]) -> dict[str, Range]:
    """The range of all shown weights of each name, zeros excluded."""
    shown: dict[str, list[float]] = {}
    for _, strips in groups:
        for strip in strips:
            for name, weights in strip.weights.items():
                shown.setdefault(name, []).extend(w for w in weights[:MAX_WORDS] if w)
    return {name: (min(weights), max(weights)) for name, weights in shown.items() if weights}
