"""A table whose cells hold sentences, in which some words are marked."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Literal, NamedTuple

from askonce.bench.report.blocks import Block

STYLE = (
    "<style>.prose td,.prose th{white-space:normal;text-align:left;vertical-align:top}"
    ".prose td{min-width:9rem}.prose tr.head td{padding-top:.9rem;border-color:var(--soft)}"
    "</style>"
)
TAGS = {"bold": "b", "under": "u", "soft": "small"}
SIGNS = {"bold": "**", "under": "_", "soft": ""}
MARKDOWN = re.compile(r"([\\`*_|<>\[\]~$])")  # characters that Markdown would take as its own


class Span(NamedTuple):
    """A piece of text and how it is set off."""

    text: str
    mark: Literal["", "bold", "under", "soft"] = ""


Cell = Sequence[Span]  # joined by spaces


def plain(text: str) -> Cell:
    """A cell without marked words."""
    return [Span(text)]


@dataclass(frozen=True)
class Prose(Block):
    """A table of sentences; a row of one cell is the heading of those below it."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    quotes: bool = field(default=True, kw_only=True)

    def html(self) -> str:
        """A table whose cells break lines."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.header)
        body = "".join(self._row(row) for row in self.rows)
        return (
            f'{STYLE}<div class="wide prose"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    def markdown(self, folder: Path, name: str) -> str:
        """A table."""
        lines = ["| " + " | ".join(self.header) + " |", "|---" * len(self.header) + "|"]
        for row in self.rows:
            cells = [_joined(cell, _in_markdown) for cell in row]
            if len(row) == 1:
                cells = [f"**{cells[0]}**"] + [""] * (len(self.header) - 1)
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def _row(self, row: Sequence[Cell]) -> str:
        if len(row) == 1:
            heading = _joined(row[0], _in_html)
            return f"<tr class=head><td colspan={len(self.header)}><b>{heading}</b></td></tr>"
        return "<tr>" + "".join(f"<td>{_joined(cell, _in_html)}</td>" for cell in row) + "</tr>"


def _joined(cell: Cell, show: Callable[[Span], str]) -> str:
    return " ".join(show(span) for span in cell)


def _in_html(span: Span) -> str:
    text = escape(span.text)
    return f"<{TAGS[span.mark]}>{text}</{TAGS[span.mark]}>" if span.mark else text


def _in_markdown(span: Span) -> str:
    text = MARKDOWN.sub(r"\\\1", " ".join(span.text.split()))
    return f"{SIGNS[span.mark]}{text}{SIGNS[span.mark]}" if span.mark else text
