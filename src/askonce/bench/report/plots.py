"""Charts as SVG whose text stays text and whose colours follow the page.

Import this module only where a report is made: matplotlib takes a while to load.
"""

import re
import warnings
from html import escape
from io import StringIO
from typing import Any

from matplotlib import rc_context

from askonce.bench.report.charts import Chart
from askonce.bench.report.drawing import INK, draw

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


def svg(chart: Chart, title: str) -> str:
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
    text = re.sub(r'<g id="tip([0-9a-f]*)">', _tip_element, text)
    text = NEEDLESS.sub("", text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)


def _tip_element(match: re.Match[str]) -> str:
    return f"<g><title>{escape(bytes.fromhex(match[1]).decode())}</title>"
