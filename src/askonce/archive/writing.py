"""Changes of an archive: each within the transaction that its caller began."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, or_, select, update

from askonce.archive.tables import links, posts, revisions, state
from askonce.errors import AskonceError
from askonce.types import Link

CHUNK = 5000  # ids of one statement; SQLite takes 32,766
# what makes an edit; votes and marks change too, but are no other text
_TEXT = ("title", "body", "html")
_COMPARED = (*_TEXT, "kind", "parent", "score", "accepted", "tags", "created", "deleted")


class Written(NamedTuple):
    """What one write did to posts, and the archive's change number after it."""

    added: int
    changed: int
    unchanged: int
    change: int


def write_rows(
    connection: Connection, rows: Mapping[str, dict[str, Any]], new_links: Iterable[Link]
) -> Written:
    """Add rows, or replace those with the same ids; add links."""
    known = _known(connection, list(rows))
    added = [row for name, row in rows.items() if name not in known]
    changed = [
        row
        for name, row in rows.items()
        if name in known and any(row[key] != known[name][key] for key in _COMPARED)
    ]
    _check_kinds(changed, known)
    change = _number(connection, [*added, *changed])
    _keep_revisions(connection, changed, known)
    if added:
        connection.execute(posts.insert(), added)
    if changed:
        _replace(connection, changed)
    _add_links(connection, new_links)
    return Written(len(added), len(changed), len(rows) - len(added) - len(changed), change)


def delete_rows(connection: Connection, ids: Iterable[str]) -> list[str]:
    """Leave rows without text for these posts and their answers; the ids of all that are gone."""
    gone: list[str] = []
    for some in chunks(list(ids)):
        wanted = or_(posts.c.id.in_(some), posts.c.parent.in_(some))
        query = select(posts.c.id).where(wanted, ~posts.c.deleted)
        gone += connection.execute(query).scalars()
    gone = list(dict.fromkeys(gone))
    rows: list[dict[str, Any]] = [{"of": name} for name in gone]
    _number(connection, rows)
    for some in chunks(gone):
        connection.execute(revisions.delete().where(revisions.c.id.in_(some)))
        ends = or_(links.c.source.in_(some), links.c.target.in_(some))
        connection.execute(links.delete().where(ends))
    if rows:
        empty = {"title": "", "body": "", "html": "", "tags": "[]", "deleted": True}
        statement = update(posts).where(posts.c.id == bindparam("of"))
        connection.execute(statement.values(**empty, change=bindparam("change")), rows)
    return gone


def _replace(connection: Connection, changed: Sequence[Mapping[str, Any]]) -> None:
    names = [name for name in changed[0] if name != "id"]
    values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    statement = update(posts).where(posts.c.id == bindparam("of")).values(values)
    rows = [{"of": row["id"], **{f"new_{name}": row[name] for name in names}} for row in changed]
    connection.execute(statement, rows)


def chunks(ids: list[str]) -> Iterator[list[str]]:
    """So many ids at a time as one statement takes."""
    for start in range(0, len(ids), CHUNK):
        yield ids[start : start + CHUNK]


def _known(connection: Connection, ids: list[str]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for some in chunks(ids):
        rows = connection.execute(select(posts).where(posts.c.id.in_(some))).mappings()
        found |= {row["id"]: row for row in rows}
    return found


def _check_kinds(rows: Sequence[Mapping[str, Any]], known: Mapping[str, Mapping[str, Any]]) -> None:
    for row in rows:
        before = known[row["id"]]
        if before["kind"] != row["kind"] and not before["deleted"]:
            raise AskonceError(
                f"post {row['id']!r} is known as {before['kind']}, not {row['kind']}; "
                "questions and answers need different ids"
            )


def _number(connection: Connection, rows: Sequence[dict[str, Any]]) -> int:
    """Give each row the next change number; the last one that was given."""
    raised = update(state).values(change=state.c.change + len(rows)).returning(state.c.change)
    last = int(connection.execute(raised).scalar_one())
    for number, row in enumerate(rows, start=last - len(rows) + 1):
        row["change"] = number
    return last


def _keep_revisions(
    connection: Connection,
    changed: Sequence[Mapping[str, Any]],
    known: Mapping[str, Mapping[str, Any]],
) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    kept = []
    for row in changed:
        before = known[row["id"]]
        if not before["deleted"] and any(row[key] != before[key] for key in _TEXT):
            old = {key: before[key] for key in ("id", *_TEXT)}
            kept.append(old | {"change": row["change"], "replaced": now})
    if kept:
        connection.execute(revisions.insert(), kept)


def _add_links(connection: Connection, new: Iterable[Link]) -> None:
    wanted = {(link.source, link.target, link.kind) for link in new if link.source != link.target}
    for some in chunks(sorted({source for source, _, _ in wanted})):
        query = select(links).where(links.c.source.in_(some))
        wanted -= {tuple(row) for row in connection.execute(query)}
    if wanted:
        rows = [dict(zip(("source", "target", "kind"), link, strict=True)) for link in wanted]
        connection.execute(links.insert(), rows)
