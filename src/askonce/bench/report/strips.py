"""Words on coloured ground, or with rows of coloured cells below them, as SVG."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

WIDTH, GUTTER = 1000, 150
LETTER, GAP, PAD = 7.2, 3, 4  # of a fixed-width font of 12 pixels
LINE, CELL = 20, 8  # height of a word, and of a coloured cell below it
BLUE = "#2f7ed8"  # readable on white and on black
PALEST, FULLEST = 0.06, 0.8
MOST = 60  # words of a text that are shown

Range = tuple[float, float]
EACH_ITS_OWN: Mapping[str, Range] = {}


@dataclass(frozen=True)
class Strip:
    """The words of one text and their weights; each name is a row, a single one is the ground."""

    label: str
    words: Sequence[str]
    rows: Mapping[str, Sequence[float]]


class Placed(NamedTuple):
    """A word's place."""

    number: int
    x: float
    line: int
    width: float


def strips(
    groups: Sequence[tuple[str, Sequence[Strip]]], scale: Mapping[str, Range] = EACH_ITS_OWN
) -> str:
    """Groups of strips below their headings.

    The scale says for a row which values are pale and which full; without one, it goes from zero
    to the greatest value of each strip.
    """
    parts: list[str] = []
    y = 0.0
    for heading, members in groups:
        parts.append(f'<text y="{y + 18:.1f}" font-weight="bold">{escape(heading)}</text>')
        y += 26
        for strip in members:
            drawn, height = _strip(strip, y, scale)
            parts += drawn
            y += height + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 4:.0f}" role="img" '
        'font-family="ui-monospace,monospace" font-size="12" fill="currentColor">'
        + "".join(parts)
        + "</svg>"
    )


def common_scale(groups: Sequence[tuple[str, Sequence[Strip]]]) -> dict[str, Range]:
    """For each row the range of all values that are shown; zero, which is no value, left out."""
    found: dict[str, list[float]] = {}
    for _, members in groups:
        for strip in members:
            for name, values in strip.rows.items():
                found.setdefault(name, []).extend(v for v in values[:MOST] if v)
    return {name: (min(values), max(values)) for name, values in found.items() if values}


def _strip(strip: Strip, top: float, scale: Mapping[str, Range]) -> tuple[list[str], float]:
    """The drawing and its height."""
    below = len(strip.rows) if len(strip.rows) > 1 else 0
    height = LINE + CELL * below + (GAP if below else 2)
    placed = list(_flow(strip.words))
    lines = placed[-1].line + 1 if placed else 1
    parts = [f'<text y="{top + 14:.1f}" opacity=".75">{escape(strip.label[:20])}</text>']
    for row, (name, values) in enumerate(strip.rows.items()):
        low, high = scale.get(name, (0.0, max(values[:MOST], default=1.0)))
        offset, size = (LINE + CELL * row, CELL - 1) if below else (0, LINE - 2)
        if below:
            parts += [_row_name(name, top + n * height + offset) for n in range(lines)]
        for word in placed:
            y = top + word.line * height + offset
            value = values[word.number]
            told = f"{strip.words[word.number]} · {name} {value:.4f}"
            parts.append(
                f'<rect x="{word.x:.1f}" y="{y:.1f}" width="{word.width:.1f}" height="{size}" '
                f'rx="2" fill="{BLUE}" fill-opacity="{_opacity(value, low, high):.3f}">'
                f"<title>{escape(told)}</title></rect>"
            )
    parts += [_word(strip.words[w.number], w, top + w.line * height) for w in placed]
    return parts, lines * height


def _opacity(value: float, low: float, high: float) -> float:
    """Some colour for every value but zero, which stands for none."""
    share = min(max((value - low) / (high - low or 1), 0), 1)
    return PALEST + (FULLEST - PALEST) * share if value else 0.0


def _flow(words: Sequence[str]) -> Iterator[Placed]:
    """Places from left to right, line by line."""
    x, line = float(GUTTER), 0
    for number, word in enumerate(words[:MOST]):
        width = len(word) * LETTER + 2 * PAD
        if x + width > WIDTH and x > GUTTER:
            x, line = float(GUTTER), line + 1
        yield Placed(number, x, line, width)
        x += width + GAP


def _row_name(name: str, y: float) -> str:
    return (
        f'<text x="{GUTTER - 6}" y="{y + CELL - 1:.1f}" font-size="9" text-anchor="end">'
        f"{escape(name)}</text>"
    )


def _word(word: str, place: Placed, top: float) -> str:
    # textLength: the ground fits the word whatever font stands in for the one named
    length = f' textLength="{len(word) * LETTER:.1f}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<text x="{place.x + PAD:.1f}" y="{top + 13:.1f}" pointer-events="none"'
        f"{length if len(word) > 1 else ''}>{escape(word)}</text>"
    )
