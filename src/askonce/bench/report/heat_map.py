"""How each word of one text goes with each word of another, as a coloured table in SVG."""

from collections.abc import Sequence
from html import escape
from itertools import product

from askonce.bench.report.axes import COLOURS

CELL, LETTER, ROOM = 20, 6.6, 12  # of a fixed-width font of 11 pixels
MORE, LESS = COLOURS[0], COLOURS[3]  # above zero and below


def heat_map(rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]]) -> str:
    """A cell per pair of words, the greater the value's size the fuller its colour."""
    left = max(map(len, rows)) * LETTER + ROOM
    top = max(map(len, columns)) * LETTER + ROOM
    width, height = left + CELL * len(columns) + ROOM, top + CELL * len(rows) + ROOM
    most = max((abs(value) for row in values for value in row), default=0.0) or 1.0
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" role="img" font-family="ui-monospace,monospace" font-size="11" '
        'fill="currentColor">'
    ]
    parts += [
        f'<text x="{left - 5:.1f}" y="{top + CELL * n + 13:.1f}" text-anchor="end">'
        f"{escape(word)}</text>"
        for n, word in enumerate(rows)
    ]
    parts += [
        f'<text transform="translate({left + CELL * n + 13:.1f} {top - 5:.1f}) rotate(-90)">'
        f"{escape(word)}</text>"
        for n, word in enumerate(columns)
    ]
    for (y, row), (x, column) in product(enumerate(rows), enumerate(columns)):
        value = values[y][x]
        parts.append(
            f'<rect x="{left + CELL * x:.1f}" y="{top + CELL * y:.1f}" width="{CELL - 1}" '
            f'height="{CELL - 1}" fill="{MORE if value >= 0 else LESS}" '
            f'fill-opacity="{0.03 + 0.92 * abs(value) / most:.3f}">'
            f"<title>{escape(row)} · {escape(column)} {value:.4f}</title></rect>"
        )
    return "".join([*parts, "</svg>"])
