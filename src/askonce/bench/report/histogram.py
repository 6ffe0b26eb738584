"""How values spread: histograms of several groups in one frame."""

from collections.abc import Mapping

import numpy as np

from askonce.bench.report.axes import COLOURS, Axis, Frame, Scale, drawing, grid, text

BINS = 40
FRAME = Frame(width=480, height=280, left=56, right=14, top=34, bottom=42)


def histograms(panels: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    """A panel for each title, beside each other; the groups of a panel overlap."""
    parts = [
        f'<g transform="translate({FRAME.width * place:g} 0)">{_panel(title, groups)}</g>'
        for place, (title, groups) in enumerate(panels.items())
    ]
    return drawing(FRAME.width * len(panels), FRAME.height, parts)


def _panel(title: str, groups: Mapping[str, np.ndarray]) -> str:
    """Shares of each group by value; the highest hundredth stands in the last bar."""
    every = np.concatenate(list(groups.values()))
    edges = np.linspace(0, float(np.quantile(every, 0.99)) * 1.02 or 1.0, BINS + 1)
    shares = {
        name: np.histogram(np.minimum(values, edges[-1]), edges)[0] / len(values)
        for name, values in groups.items()
    }
    highest = max(float(share.max()) for share in shares.values())
    xs, ys = Scale(0, float(edges[-1]), Axis(title)), Scale(0, highest * 1.05, Axis("share"))
    parts = grid(FRAME, xs, ys)
    for place, (name, share) in enumerate(shares.items()):
        steps = "".join(
            f"V{FRAME.y(ys.share(value)):.1f}H{FRAME.x(xs.share(edge)):.1f}"
            for value, edge in zip(share, edges[1:], strict=True)
        )
        outline = f"M{FRAME.x(0):.1f} {FRAME.y(0):.1f}{steps}V{FRAME.y(0):.1f}Z"
        colour, right = COLOURS[place], FRAME.width - FRAME.right
        parts.append(
            f'<path d="{outline}" fill="{colour}" fill-opacity=".35" stroke="{colour}"/>'
            f'<rect x="{right - 150:g}" y="{FRAME.top + 5 + 16 * place:g}" width="10" height="10" '
            f'fill="{colour}" fill-opacity=".6"/>'
            + text(right - 135, FRAME.top + 14 + 16 * place, f"{name} ({len(groups[name]):,})")
        )
    return "".join(parts)
