"""Points with lines between some of them: flat as SVG, or in space, to be turned by the mouse."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from askonce.bench.report.axes import COLOURS, drawing, text
from askonce.bench.report.blocks import Block

SIZE, LEGEND = 460, 26
CANVAS = 600
TURNED = 0.6, 0.4  # around the upright axis, and up
RADII = (4, 3, 2)
GROUP_COLOURS = (COLOURS[3], COLOURS[2], COLOURS[7])


class Cloud(NamedTuple):
    """Points (N, 2) or (N, 3), the group of each, and pairs of points to join by a line."""

    title: str
    points: np.ndarray
    groups: np.ndarray  # (N,), numbers of ``names``
    names: Sequence[str]
    lines: Sequence[tuple[int, int]]


def flat(clouds: Sequence[Cloud]) -> str:
    """Clouds of two dimensions beside each other."""
    parts = [
        f'<g transform="translate({place * (SIZE + 20)} 0)">{_flat(cloud)}</g>'
        for place, cloud in enumerate(clouds)
    ]
    return drawing(max(len(clouds), 2) * (SIZE + 20) - 20, SIZE + LEGEND, parts)


def _flat(cloud: Cloud) -> str:
    places = _centred(cloud.points) * (SIZE / 2 - 10) + SIZE / 2  # (N, 2)
    places[:, 1] += LEGEND
    lines = "".join(
        f"M{places[a][0]:.1f} {places[a][1]:.1f}L{places[b][0]:.1f} {places[b][1]:.1f}"
        for a, b in cloud.lines
    )
    parts = [
        _legend(cloud),
        f'<path d="{lines}" stroke="{COLOURS[0]}" stroke-opacity=".45" stroke-width=".7"/>',
    ]
    for place in np.argsort(-cloud.groups, kind="stable"):  # the first group lies on top
        x, y = places[place]
        group = int(cloud.groups[place])
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADII[group]}" fill="{GROUP_COLOURS[group]}"/>'
        )
    return "".join(parts)


def _legend(cloud: Cloud) -> str:
    parts = [f'<g font-weight="bold">{text(4, 14, cloud.title)}</g>']
    x = 130.0
    for group, name in enumerate(cloud.names):
        dot = f'<circle cx="{x}" cy="10" r="{RADII[group]}" fill="{GROUP_COLOURS[group]}"/>'
        parts.append(dot + text(x + 8, 14, name))
        x += 30 + 6.2 * len(name)
    return "".join(parts)


def _centred(points: np.ndarray) -> np.ndarray:
    """Around zero, within one."""
    moved = points - (points.max(0) + points.min(0)) / 2
    return moved / (np.abs(moved).max() or 1.0)


@dataclass(frozen=True)
class TurningClouds(Block):
    """Clouds of three dimensions; the mouse or a finger turns them.

    Markdown gets the view from which they start.
    """

    clouds: Sequence[Cloud]

    def html(self) -> str:
        """A canvas for each cloud, and the script that draws on it."""
        shown = "".join(
            f"<div><b>{escape(cloud.title)}</b><br>"
            f'<canvas width="{CANVAS * 2}" height="{CANVAS * 2}" '
            f'style="width:{CANVAS}px;max-width:100%;touch-action:none;cursor:grab" '
            f"data-cloud='{self._data(cloud)}'></canvas></div>"
            for cloud in self.clouds
        )
        names = " ".join(
            f'<span style="color:{colour}">● {escape(name)}</span>'
            for colour, name in zip(GROUP_COLOURS, self.clouds[0].names, strict=False)
        )
        return (
            f'<div style="display:flex;flex-wrap:wrap;gap:20px">{shown}</div><p>{names}</p>'
            f"<script>{SCRIPT}</script>"
        )

    def markdown(self, folder: Path, name: str) -> str:
        """A link to a drawing of the first view."""
        folder.mkdir(parents=True, exist_ok=True)
        seen = [cloud._replace(points=first_view(cloud.points)) for cloud in self.clouds]
        (folder / f"{name}.svg").write_text(flat(seen), "utf-8")
        return f"![{self.title}]({folder.name}/{name}.svg)"

    def _data(self, cloud: Cloud) -> str:
        moved = _centred(cloud.points)
        within = moved / (np.linalg.norm(moved, axis=1).max() or 1.0)  # the unit sphere
        told = {
            "points": np.round(within, 3).tolist(),
            "groups": cloud.groups.tolist(),
            "lines": [list(line) for line in cloud.lines],
            "colours": [*GROUP_COLOURS, COLOURS[0]],
            "radii": RADII,
            "turned": TURNED,
        }
        return escape(json.dumps(told, separators=(",", ":")))


def first_view(points: np.ndarray) -> np.ndarray:
    """Points (N, 3) as they are seen before anything is turned (N, 2)."""
    (round_, up), (x, y, z) = TURNED, points.T
    across = x * np.cos(round_) + z * np.sin(round_)
    depth = z * np.cos(round_) - x * np.sin(round_)
    return np.stack([across, y * np.cos(up) - depth * np.sin(up)], axis=1)


SCRIPT = """
for (const canvas of document.currentScript.parentNode.querySelectorAll("canvas[data-cloud]")) {
  const cloud = JSON.parse(canvas.dataset.cloud), pen = canvas.getContext("2d");
  let [round, up] = cloud.turned, held = null, waiting = false;
  const place = ([x, y, z]) => {
    const across = x * Math.cos(round) + z * Math.sin(round);
    const depth = z * Math.cos(round) - x * Math.sin(round);
    const tall = y * Math.cos(up) - depth * Math.sin(up);
    const away = depth * Math.cos(up) + y * Math.sin(up);
    const size = canvas.width * 0.46 / (1 + 0.25 * away);
    return [canvas.width / 2 + across * size, canvas.height / 2 + tall * size, away];
  };
  const draw = () => {
    waiting = false;
    const seen = cloud.points.map(place);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.strokeStyle = cloud.colours[3];
    pen.lineWidth = 1.5;
    for (const [a, b] of cloud.lines) {
      pen.globalAlpha = 0.6 - 0.3 * (seen[a][2] + seen[b][2]) / 2;
      pen.beginPath();
      pen.moveTo(seen[a][0], seen[a][1]);
      pen.lineTo(seen[b][0], seen[b][1]);
      pen.stroke();
    }
    const order = [...seen.keys()].sort((a, b) => seen[b][2] - seen[a][2]);
    for (const n of order) {
      const [x, y, away] = seen[n], group = cloud.groups[n];
      pen.globalAlpha = Math.min(1, 0.75 - 0.25 * away);
      pen.fillStyle = cloud.colours[group];
      pen.beginPath();
      pen.arc(x, y, 2 * cloud.radii[group] / (1 + 0.25 * away), 0, 7);
      pen.fill();
    }
  };
  const later = () => { if (!waiting) { waiting = true; requestAnimationFrame(draw); } };
  canvas.onpointerdown = (e) => {
    held = [e.clientX, e.clientY];
    canvas.setPointerCapture(e.pointerId);
  };
  canvas.onpointerup = canvas.onpointercancel = () => { held = null; };
  canvas.onpointermove = (e) => {
    if (!held) return;
    round += (e.clientX - held[0]) * 0.01;
    up = Math.max(-1.5, Math.min(1.5, up + (e.clientY - held[1]) * 0.01));
    held = [e.clientX, e.clientY];
    later();
  };
  draw();
}
"""
