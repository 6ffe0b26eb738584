"""phpBB 3: the SQL dump of its MySQL database."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape

from askonce.data.formats.sources import display_name, web_address
from askonce.data.formats.sql import SqlRow
from askonce.data.forums import IMPORTERS, Imported, Source, converted_dump, host_of, iso_date
from askonce.text.html import html_to_text
from askonce.types import Post

_WHAT = "an SQL dump of a phpBB database, .gz or not"
_TABLES = ("posts", "topics", "users")
# the text of 3.2 and later is XML whose <s> and <e> hold the BBCode that readers do not see
_UNSEEN = re.compile(r"<(s|e)>[^<]*+</\1>")
_QUOTE = re.compile(r"(?P<open><QUOTE\b|\[quote\b)|</QUOTE>|\[/quote[^\]]{0,40}\]", re.IGNORECASE)
_BBCODE = re.compile(r"\[/?[a-z*]+(?:=[^\]\n]*)?(?::[a-z0-9:]+)?\]", re.IGNORECASE)


@dataclass
class _Known:
    names: dict[str, str] = field(default_factory=dict)  # of users, by id
    first: dict[str, str] = field(default_factory=dict)  # topic -> its first post
    titles: dict[str, str] = field(default_factory=dict)


@IMPORTERS.add("phpbb")
def read(source: Source) -> Iterator[Imported]:
    """A mysqldump of phpBB 3: the first post of a topic is a question, the others answer it.

    Quotations and BBCode are left out, as are posts that are not approved. The dump is read twice,
    first for topics and names. ``site`` is the forum's address, for links.
    """
    yield from converted_dump(source, _WHAT, _TABLES, _Known(), _learn, _posts)


def _learn(known: _Known, row: SqlRow) -> None:
    table, values = row[0], row[1].values
    if table.endswith("users") and "username" in values:
        known.names[str(values.get("user_id"))] = unescape(str(values["username"]))
    elif table.endswith("topics") and "topic_first_post_id" in values:
        topic = str(values.get("topic_id"))
        known.first[topic] = str(values["topic_first_post_id"])
        known.titles[topic] = unescape(str(values.get("topic_title") or ""))


def _posts(known: _Known, source: Source, row: SqlRow) -> list[Post]:
    table, record = row
    values = record.values
    if not table.endswith("posts") or "post_text" not in values:
        return []
    if values.get("post_visibility", values.get("post_approved", "1")) != "1":
        return []
    number, topic = record.text("post_id"), record.text("topic_id")
    if topic not in known.first:
        raise record.error(f"topic {topic} in the dump", "none")
    seconds = str(values.get("post_time") or "0")
    if not seconds.isdigit():
        raise record.error("'post_time': seconds since 1970", seconds)
    is_question = known.first[topic] == number
    site = source.address
    user = values.get("poster_id")
    guest = display_name(values.get("post_username"))  # their posts are of one account
    name = display_name(known.names.get(str(user)))
    shown = f"t={topic}" if is_question else f"p={number}#p{number}"
    # BBCode of 3.0, or the XML of later versions
    text = _UNSEEN.sub("", _without_quotes(str(values["post_text"])))
    profile = f"{site}/memberlist.php?mode=viewprofile&u={user}"
    return [
        Post(
            id=f"t{topic}" if is_question else f"p{number}",
            title=known.titles[topic] if is_question else "",
            body=html_to_text(_BBCODE.sub("", text).replace("\n", "<br>"), source.code),
            kind="question" if is_question else "answer",
            parent=None if is_question else f"t{topic}",
            created=iso_date(int(seconds)),
            url=f"{site}/viewtopic.php?{shown}" if site else None,
            author=guest or name,
            author_url=web_address(profile) if site and name and not guest else None,
            site=host_of(site),
        )
    ]


def _without_quotes(text: str) -> str:
    """The text outside quotations, which may hold others; one that is not closed stays."""
    parts, depth, start, opened = [], 0, 0, 0
    for mark in _QUOTE.finditer(text):
        if mark["open"]:
            opened = mark.start() if depth == 0 else opened
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                parts.append(text[start:opened])
                start = mark.end()
    return "\n".join([*parts, text[start:]])
