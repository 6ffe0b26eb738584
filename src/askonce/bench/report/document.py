"""Render a report: one self-contained HTML page, or Markdown with figures beside it."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import jinja2
import numpy as np

from askonce.bench.report.blocks import Block, Cell, Plot, RotatingClouds, Span
from askonce.bench.report.charts import Cloud, CloudChart
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.results import tables
from askonce.bench.report.table import result_table
from askonce.bench.store import Store

QUICK = "Quick figures: short runs on few questions. They show that every row runs, nothing else."
ABOUT = (
    "Each number is the mean over seeds on the test questions, with the 95 % interval over "
    "questions (bootstrap) in brackets. Epochs, and the kinds and weights of fusions, were chosen "
    "on dev. A name such as model@key=value is a recipe with that change; a+b is the fusion of two "
    "rankings. Times and speeds were measured while several rows ran side by side on one machine."
)
# datasets whose texts may be quoted, and the credit that their licence asks for
OPEN_TEXTS = {"travel": "travel.stackexchange.com and its authors, CC BY-SA 3.0"}
MARKS = {"bold": "**", "under": "_", "": ""}
MARKDOWN = re.compile(r"([\\`*_|<>\[\]~$])")  # characters with a meaning in Markdown
Contents = list[tuple[str, str]]  # id of a section, and its dataset
VIEW = 0.6, 0.4  # yaw and pitch from which clouds are first seen
# a figure of its own file has no page to take colours from
FILE_STYLE = (
    "<style>svg{color:#1b1b1b}@media(prefers-color-scheme:dark){svg{color:#e6e6e6}}</style>"
)


def blocks(
    store: Store,
    texts: bool = True,
    on_progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> list[Block]:
    """The main tables, then every figure the store has rows for.

    Without ``texts``, blocks that quote a dataset are left out unless its licence allows it.
    """
    made: list[Block] = [result_table(table) for table in tables(store)]
    names = FIGURES.names()
    for done, name in enumerate(names):
        on_progress(name, done, len(names))
        made += FIGURES[name](store)
    return made if texts else [credited(block) for block in made if may_quote(block)]


def may_quote(block: Block) -> bool:
    """Whether everyone may redistribute the texts that a block shows, if any."""
    return not block.quotes or block.quotes in OPEN_TEXTS


def credited(block: Block) -> Block:
    if not block.quotes:
        return block
    return replace(block, about=f"{block.about} Texts: {OPEN_TEXTS[block.quotes]}.")


def html_page(store: Store, parts: Sequence[Block]) -> str:
    page = _environment().get_template("page.html.j2")
    return page.render(**_front(store), contents=_contents(parts), blocks=parts)


def block_html(block: Block) -> str:
    return _environment().get_template("block.html.j2").render(block=block)


def markdown_page(store: Store, parts: Sequence[Block], path: Path) -> str:
    """The same as Markdown; drawings go into a folder beside the file."""
    folder = path.with_name(f"{path.stem}-figures")
    for old in [*folder.glob("*.svg"), *folder.glob("*.png")]:  # of the previous report
        old.unlink()
    page = _environment().get_template("page.md.j2")
    return page.render(
        **_front(store), blocks=parts, content=lambda block: block_markdown(block, folder)
    )


def block_markdown(block: Block, folder: Path) -> str:
    """The content of one block; a drawing is written to the folder and linked."""
    file = None
    if isinstance(block, Plot | RotatingClouds):
        file = f"{folder.name}/{_write_drawing(block, folder)}"
    template = _environment().get_template("block.md.j2")
    return template.render(block=block, file=file).strip("\n")


def _write_drawing(block: Plot | RotatingClouds, folder: Path) -> str:
    from askonce.bench.report.drawing import svg

    if isinstance(block, Plot):
        chart = block.chart
    else:
        chart = CloudChart([c._replace(points=first_view(c.points)) for c in block.clouds])
    name = re.sub(r"\W+", "-", block.title.lower()).strip("-") + ".svg"
    folder.mkdir(parents=True, exist_ok=True)
    element, end, content = svg(chart, block.title).partition(">")
    (folder / name).write_text(f"{element}{end}{FILE_STYLE}{content}\n", "utf-8")
    return name


@cache
def _environment() -> jinja2.Environment:
    from askonce.bench.report.drawing import GROUP_COLOURS, svg

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("askonce.bench.report"),
        autoescape=lambda name: bool(name and name.endswith(".html.j2")),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals |= {"svg": svg, "cloud_data": _cloud_data, "group_colours": GROUP_COLOURS}
    environment.filters |= {"cell": _markdown_cell, "quoted": _quoted}
    return environment


def _markdown_cell(cell: Cell, quotes: str) -> str:
    spans = [Span(cell)] if isinstance(cell, str) else cell
    texts = (_quoted(s.text) if quotes else s.text.replace("|", "\\|") for s in spans)
    marks = (MARKS[span.mark] for span in spans)
    return " ".join(f"{mark}{text}{mark}" for mark, text in zip(marks, texts, strict=True))


def _quoted(text: str) -> str:
    """Text of a dataset, none of which is markup."""
    return MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _front(store: Store) -> dict[str, str | None]:
    versions = dict.fromkeys(
        ", ".join(f"{name} {value}" for name, value in cell.versions.items())
        for cell in store.cells()
    )
    made = f"Made with {'; '.join(versions)}." if versions else "The store has no finished cell."
    return {"quick": QUICK if store.quick else None, "about": ABOUT, "versions": made}


def _contents(parts: Sequence[Block]) -> list[tuple[str, Contents]]:
    """A line for each kind of block, with a link per dataset; first those that have one only."""
    single: list[tuple[str, Contents]] = []
    by_kind: dict[str, Contents] = {}
    for n, block in enumerate(parts):
        kind, _, dataset = block.title.partition(": ")
        if dataset:
            by_kind.setdefault(kind, []).append((f"b{n}", dataset))
        else:
            single.append(("", [(f"b{n}", kind)]))
    return [*single, *by_kind.items()]


def _cloud_data(cloud: Cloud) -> str:
    """What the script draws: points in the unit sphere, their groups and lines."""
    from askonce.bench.report.drawing import BLUE, GROUP_COLOURS, GROUP_RADII

    centred = cloud.points - (cloud.points.max(0) + cloud.points.min(0)) / 2
    unit = centred / (np.linalg.norm(centred, axis=1).max() or 1.0)
    data = {
        "points": np.round(unit, 3).tolist(),
        "groups": cloud.groups.tolist(),
        "lines": [list(line) for line in cloud.lines],
        "colours": GROUP_COLOURS,
        "lineColour": BLUE,
        "radii": GROUP_RADII,
        "view": VIEW,
    }
    return json.dumps(data, separators=(",", ":"))


def first_view(points: np.ndarray) -> np.ndarray:
    """Points (N, 3) as they are seen before the reader rotates them (N, 2)."""
    (yaw, pitch), (x, y, z) = VIEW, points.T
    across = x * np.cos(yaw) + z * np.sin(yaw)
    depth = z * np.cos(yaw) - x * np.sin(yaw)
    return np.stack([across, y * np.cos(pitch) - depth * np.sin(pitch)], axis=1)
