"""Question2Answer: the SQL dump of its MySQL database."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from askonce.data.formats.posts import text_and_html
from askonce.data.formats.sources import display_name, web_address
from askonce.data.formats.sql import SqlRow
from askonce.data.forums import IMPORTERS, Imported, Source, converted_dump, host_of, iso_date
from askonce.text.leaks import strip_notices
from askonce.types import Link, Post

_WHAT = "an SQL dump of a Question2Answer database, .gz or not"
_TABLES = ("posts", "users")
_KINDS = {"Q": "question", "A": "answer"}  # others are comments, notes and hidden posts


@dataclass
class _Known:
    names: dict[str, str] = field(default_factory=dict)  # of users, by id
    accepted: set[str] = field(default_factory=set)
    questions: set[str] = field(default_factory=set)


@IMPORTERS.add("question2answer", "q2a")
def read(source: Source) -> Iterator[Imported]:
    """A mysqldump of Question2Answer: questions, answers, votes, tags and users.

    The dump is read twice, first for names and accepted answers. A question that is closed by
    another one is its duplicate. ``site`` is the forum's address, for links.
    """
    yield from converted_dump(source, _WHAT, _TABLES, _Known(), _learn, _posts)


def _learn(known: _Known, row: SqlRow) -> None:
    table, values = row[0], row[1].values
    if table.endswith("users") and "handle" in values:
        known.names[str(values.get("userid"))] = str(values["handle"])
    elif values.get("type") == "Q":
        known.questions.add(str(values.get("postid")))
        known.accepted.add(str(values.get("selchildid")))


def _posts(known: _Known, source: Source, row: SqlRow) -> list[Post | Link]:
    table, record = row
    values = record.values
    kind = _KINDS.get(str(values.get("type")))
    if not table.endswith("posts") or "postid" not in values or kind is None:
        return []
    number, text = str(values["postid"]), values.get("content") or ""
    is_html = values.get("format") == "html"
    body, html = text_and_html(text, source.code) if is_html else (strip_notices(text), "")
    parent = str(values.get("parentid")) if kind == "answer" else None
    site = source.address
    name = known.names.get(str(values.get("userid")))
    shown = f"{parent}?show={number}#a{number}" if parent else number
    post = Post(
        id=number,
        title=strip_notices(values.get("title") or "").strip() if kind == "question" else "",
        body=body.strip(),
        kind="answer" if parent else "question",
        parent=parent,
        score=record.integer("netvotes"),
        accepted=kind == "answer" and number in known.accepted,
        tags=tuple(filter(None, map(str.strip, (values.get("tags") or "").split(",")))),
        created=iso_date(values.get("created")),
        html=html,
        url=f"{site}/{shown}" if site else None,
        author=display_name(name) or display_name(values.get("name")),
        author_url=web_address(f"{site}/user/{name}") if site and name else None,
        site=host_of(site),
    )
    original = str(values.get("closedbyid"))
    is_duplicate = kind == "question" and original in known.questions
    return [post, Link(number, original)] if is_duplicate else [post]
