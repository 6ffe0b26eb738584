"""What a source of ``askonce sync`` has delivered."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select

from askonce.archive.tables import posts, synced
from askonce.archive.writing import chunks


def mark_seen(connection: Connection, source: str, ids: Iterable[str], number: int) -> None:
    """Note that this pass over a source has delivered these posts."""
    names = list(dict.fromkeys(ids))
    forget(connection, source, names)
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


def forget(connection: Connection, source: str, ids: Iterable[str]) -> None:
    for chunk in chunks(list(ids)):
        known = (synced.c.source == source) & synced.c.id.in_(chunk)
        connection.execute(synced.delete().where(known))


def added_after(connection: Connection, number: int, limit: int) -> list[Any]:
    query = select(*posts.c).where(posts.c.number > number, ~posts.c.deleted)
    return list(connection.execute(query.order_by(posts.c.number).limit(limit)))
