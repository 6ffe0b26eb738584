"""Write to an archive, inside a transaction that the caller has begun."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, bindparam, or_, select, update

from askonce.archive.tables import links, posts, revisions, state, synced
from askonce.errors import AskonceError
from askonce.types import SOURCE_FIELDS, utc_now

Rows = Mapping[str, Mapping[str, Any]]  # by post id
CHUNK = 5000  # ids per statement; SQLite allows 32,766
# a change of these is an edit and leaves a revision; a change of votes does not
_TEXT = ("title", "body", "html")
# the row of a deleted post
_EMPTY = {"title": "", "body": "", "html": "", "tags": "[]", "deleted": True}
_EMPTY_SOURCE = dict.fromkeys(SOURCE_FIELDS)


class Written(NamedTuple):
    """How many posts and links a write added, and the archive's change number after it."""

    added: int
    changed: int
    unchanged: int
    change: int
    links_added: int = 0


def read_value(connection: Connection, table: Table, name: str) -> Any:  # noqa: ANN401 - JSON
    """The value of a name in a table of names and JSON; None if there is none."""
    query = select(table.c.value).where(table.c.name == name)
    value = connection.execute(query).scalar_one_or_none()
    return None if value is None else json.loads(value)


def write_value(connection: Connection, table: Table, name: str, value: Any) -> None:  # noqa: ANN401
    connection.execute(table.delete().where(table.c.name == name))
    row = {"name": name, "value": json.dumps(value, ensure_ascii=False)}
    connection.execute(table.insert(), row)


def write_rows(connection: Connection, rows: Mapping[str, dict[str, Any]]) -> Written:
    """Add rows, or replace those with the same ids."""
    stored: dict[str, Mapping[str, Any]] = {}
    for chunk in chunks(list(rows)):
        known = connection.execute(select(posts).where(posts.c.id.in_(chunk))).mappings()
        stored |= {row["id"]: row for row in known}
    added = [row for name, row in rows.items() if name not in stored]
    changed = [
        row
        for name, row in rows.items()
        if name in stored and any(row[key] != stored[name][key] for key in row)
    ]
    for row in changed:
        before = stored[row["id"]]
        if before["kind"] != row["kind"] and not before["deleted"]:
            raise AskonceError(
                f"post {row['id']!r} is known as {before['kind']}, not {row['kind']}; "
                "questions and answers need different ids"
            )
    change = _assign_changes(connection, [*added, *changed])
    _add_revisions(connection, changed, stored)
    if added:
        connection.execute(posts.insert(), added)
    if changed:
        names = [name for name in changed[0] if name != "id"]
        values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
        connection.execute(
            update(posts).where(posts.c.id == bindparam("of")).values(values),
            [{"of": row["id"], **{f"new_{n}": row[n] for n in names}} for row in changed],
        )
    return Written(len(added), len(changed), len(rows) - len(added) - len(changed), change)


def delete_rows(connection: Connection, ids: Iterable[str]) -> list[str]:
    """Empty the rows of these posts and of their answers; return the ids of all deleted posts."""
    deleted: dict[str, None] = {}  # in order, each once
    for chunk in chunks(list(ids)):
        wanted = or_(posts.c.id.in_(chunk), posts.c.parent.in_(chunk))
        query = select(posts.c.id).where(wanted, ~posts.c.deleted)
        deleted |= dict.fromkeys(connection.execute(query).scalars())
    rows: list[dict[str, Any]] = [{"of": name} for name in deleted]
    _assign_changes(connection, rows)
    for chunk in chunks(list(deleted)):
        connection.execute(revisions.delete().where(revisions.c.id.in_(chunk)))
        ends = or_(links.c.source.in_(chunk), links.c.target.in_(chunk))
        connection.execute(links.delete().where(ends))
    if rows:
        statement = update(posts).where(posts.c.id == bindparam("of"))
        values = {**_EMPTY, **_EMPTY_SOURCE, "change": bindparam("change")}
        connection.execute(statement.values(values), rows)
    return list(deleted)


def chunks(ids: list[str]) -> Iterator[list[str]]:
    """As many ids at a time as one statement takes, without those that no post can have."""
    ids = [name for name in ids if name.isprintable()]  # a database refuses half surrogate pairs
    for start in range(0, len(ids), CHUNK):
        yield ids[start : start + CHUNK]


def partners(
    connection: Connection, table: Table, ids: Sequence[str], *where: ColumnElement[bool]
) -> dict[str, set[str]]:
    """The other ends of each id's rows in a table of pairs, in either direction."""
    others: dict[str, set[str]] = {}
    for chunk in chunks(list(ids)):
        ends = or_(table.c.source.in_(chunk), table.c.target.in_(chunk))
        query = select(table.c.source, table.c.target).where(ends, *where)
        for source, target in connection.execute(query):
            others.setdefault(source, set()).add(target)
            others.setdefault(target, set()).add(source)
    return others


def advance_change(connection: Connection, count: int) -> int:
    """Take the next ``count`` change numbers; return the archive's latest one."""
    advance = update(state).values(change=state.c.change + count).returning(state.c.change)
    return int(connection.execute(advance).scalar_one())


def _assign_changes(connection: Connection, rows: Sequence[dict[str, Any]]) -> int:
    """Give each row the next change number; return the archive's latest one."""
    last = advance_change(connection, len(rows))
    for number, row in enumerate(rows, start=last - len(rows) + 1):
        row["change"] = number
    return last


def _add_revisions(
    connection: Connection, changed: Sequence[Mapping[str, Any]], stored: Rows
) -> None:
    now = utc_now()
    old_texts = []
    for row in changed:
        before = stored[row["id"]]
        if not before["deleted"] and any(row[key] != before[key] for key in _TEXT):
            old = {key: before[key] for key in ("id", *_TEXT)}
            old_texts.append(old | {"change": row["change"], "replaced": now})
    if old_texts:
        connection.execute(revisions.insert(), old_texts)


def mark_seen(connection: Connection, source: str, ids: Iterable[str], number: int) -> None:
    """Note that this pass over a source has delivered these posts."""
    names = list(dict.fromkeys(ids))
    forget_synced(connection, source, names)
    if names:
        connection.execute(
            synced.insert(), [{"source": source, "id": name, "seen": number} for name in names]
        )


def take_unseen(connection: Connection, source: str, number: int) -> list[str]:
    """The posts that earlier passes delivered but this one did not; they are forgotten."""
    old = (synced.c.source == source) & (synced.c.seen < number)
    ids = list(connection.execute(select(synced.c.id).where(old)).scalars())
    connection.execute(synced.delete().where(old))
    return ids


def forget_synced(connection: Connection, source: str, ids: Iterable[str]) -> None:
    for chunk in chunks(list(ids)):
        known = (synced.c.source == source) & synced.c.id.in_(chunk)
        connection.execute(synced.delete().where(known))


def added_after(connection: Connection, number: int, limit: int) -> list[Any]:
    query = select(*posts.c).where(posts.c.number > number, ~posts.c.deleted)
    return list(connection.execute(query.order_by(posts.c.number).limit(limit)))
