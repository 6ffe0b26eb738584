"""One page of all results, that needs nothing else; and the same as Markdown."""

import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from askonce.bench.report.blocks import Block
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.results import tables
from askonce.bench.report.table import grid
from askonce.bench.store import Store

QUICK = "Quick figures: short runs on few questions. They show that every row runs, nothing else."
ABOUT = (
    "Each number is the mean over seeds on the test questions, in brackets the 95 % interval over "
    "questions (bootstrap). Epochs, and kinds and weights of fusions, were chosen on dev. A name "
    "such as model@key=value is a recipe with that change; a+b is the fusion of two rankings. "
    "Times and speeds are those of the machine of the bench, which ran several rows at a time."
)
STYLE = """
:root{color-scheme:light dark;--ground:#fff;--text:#1b1b1b;--soft:#666;--line:#ddd}
@media(prefers-color-scheme:dark){:root{--ground:#16181b;--text:#e6e6e6;--soft:#a0a0a0;--line:#3a3d42}}
body{background:var(--ground);color:var(--text);font:15px/1.5 system-ui,sans-serif;
max-width:1320px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem}h2{font-size:1.15rem;margin:2.2rem 0 .3rem}
p{margin:.3rem 0;max-width:80ch}.note,.about{color:var(--soft);font-size:.87rem}
.quick{border:1px solid #d08700;padding:.5rem .8rem;border-radius:4px}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.84rem;margin:.5rem 0;
font-variant-numeric:tabular-nums}
th,td{padding:.18rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{text-align:left}th{border-bottom:2px solid var(--soft)}
tbody tr:hover{background:color-mix(in srgb,var(--text) 7%,transparent)}
figure{margin:.5rem 0}svg,img{max-width:100%;height:auto}
nav{columns:36rem;font-size:.9rem;margin:1rem 0}nav p{break-inside:avoid}a{color:inherit}
"""


def blocks(
    store: Store,
    texts: bool = True,
    tell: Callable[[str, int, int], None] = lambda what, done, of: None,
) -> list[Block]:
    """The main tables, then every figure for which the store has what it needs.

    Without ``texts``, those that quote sentences of a dataset are left out.
    """
    made: list[Block] = [grid(table) for table in tables(store)]
    names = FIGURES.names()
    for done, name in enumerate(names):
        tell(name, done, len(names))
        made += FIGURES[name](store)
    return [block for block in made if texts or not block.quotes]


def html_page(store: Store, parts: Sequence[Block]) -> str:
    """The whole page."""
    quick = f"<p class=quick>{QUICK}</p>" if store.quick else ""
    body = "".join(
        f"<section id=b{n}><h2>{escape(block.title)}</h2><p class=about>{escape(block.about)}</p>"
        f"{block.html()}</section>"
        for n, block in enumerate(parts)
    )
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width,initial-scale=1'>"
        f"<title>Askonce: results</title><style>{STYLE}</style></head><body>"
        f"<h1>Results</h1>{quick}<p>{escape(ABOUT)}</p><p class=note>{escape(_versions(store))}</p>"
        f"<nav>{_contents(parts)}</nav>{body}</body></html>\n"
    )


def markdown_page(store: Store, parts: Sequence[Block], path: Path) -> str:
    """The same as Markdown; pictures go into a folder beside the file."""
    folder = path.with_name(f"{path.stem}-figures")
    for old in [*folder.glob("*.svg"), *folder.glob("*.png")]:  # of the report before this one
        old.unlink()
    lines = ["# Results", "", *([QUICK, ""] if store.quick else []), ABOUT, "", _versions(store)]
    for block in parts:
        content = block.markdown(folder, re.sub(r"\W+", "-", block.title.lower()).strip("-"))
        lines += ["", f"## {block.title}", block.about, "", content]
    return "\n".join(lines) + "\n"


def _contents(parts: Sequence[Block]) -> str:
    """A line for each kind of table or figure, with a link for each dataset that has one."""
    lines: dict[str, list[str]] = {}
    for n, block in enumerate(parts):
        kind, _, which = block.title.partition(": ")
        link = f'<a href="#b{n}">{escape(which or kind)}</a>'
        lines.setdefault(kind if which else "", []).append(link)
    alone = lines.pop("", [])
    told = [f"{escape(kind)}: {' · '.join(links)}" for kind, links in lines.items()]
    return "".join(f"<p>{line}</p>" for line in [*alone, *told])


def _versions(store: Store) -> str:
    found = dict.fromkeys(
        ", ".join(f"{name} {value}" for name, value in cell.record["versions"].items())
        for cell in store.cells()
    )
    return f"Made with {'; '.join(found)}." if found else "The store has no finished cell."
