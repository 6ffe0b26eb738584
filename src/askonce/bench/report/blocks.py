"""What a report is made of: tables, pictures and coloured text, each as HTML and as Markdown."""

import base64
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Block(ABC):
    """A titled part of the report; ``about`` says how to read it."""

    title: str
    about: str
    # whether it shows sentences of the dataset, which not everyone may hand on
    quotes: bool = field(default=False, kw_only=True)

    @abstractmethod
    def html(self) -> str:
        """The content alone."""

    @abstractmethod
    def markdown(self, folder: Path, name: str) -> str:
        """The content alone; files go into the folder, which stands beside the Markdown file."""


@dataclass(frozen=True)
class Grid(Block):
    """A table of short texts; the first column names the row, ``**bold**`` is allowed."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = field(default=())

    def html(self) -> str:
        """A table."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.header)
        body = "".join(
            "<tr>" + "".join(f"<td>{_bold(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows
        )
        notes = "".join(f"<p class=note>{escape(note)}</p>" for note in self.notes)
        return (
            f"<div class=wide><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>{notes}"
        )

    def markdown(self, folder: Path, name: str) -> str:
        """A table."""
        lines = ["| " + " | ".join(self.header) + " |"]
        lines.append("|---|" + "---:|" * (len(self.header) - 1))
        lines += [
            "| " + " | ".join(cell.replace("|", "\\|") for cell in r) + " |" for r in self.rows
        ]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)])


@dataclass(frozen=True)
class Picture(Block):
    """A drawing: SVG text or the bytes of a PNG."""

    content: str | bytes
    form: Literal["svg", "png"] = "svg"

    def html(self) -> str:
        """Inline SVG, or a PNG as a data address: nothing is fetched."""
        if isinstance(self.content, str):
            return f"<figure>{self.content}</figure>"
        data = base64.b64encode(self.content).decode()
        return (
            f'<figure><img alt="{escape(self.title)}" src="data:image/png;base64,{data}"></figure>'
        )

    def markdown(self, folder: Path, name: str) -> str:
        """A link to the file that it writes."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.{self.form}"
        content = self.content.encode() if isinstance(self.content, str) else self.content
        path.write_bytes(content)
        return f"![{self.title}]({folder.name}/{path.name})"


@dataclass(frozen=True)
class Markup(Block):
    """An HTML fragment of our own making, such as words on coloured ground, and its plain form."""

    fragment: str
    plain: str

    def html(self) -> str:
        """The fragment."""
        return self.fragment

    def markdown(self, folder: Path, name: str) -> str:
        """The plain form."""
        return self.plain


def _bold(text: str) -> str:
    shown = escape(text)
    return f"<b>{shown[2:-2]}</b>" if shown.startswith("**") and shown.endswith("**") else shown
