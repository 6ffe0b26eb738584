"""Queries over the links between questions."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, or_, select

from askonce.archive.tables import links
from askonce.archive.writing import chunks
from askonce.types import Link, LinkKind


def all_links(connection: Connection, kind: LinkKind | None) -> list[Link]:
    query = select(links) if kind is None else select(links).where(links.c.kind == kind)
    rows = connection.execute(query.order_by(links.c.source, links.c.target, links.c.kind))
    return [Link(row.source, row.target, row.kind) for row in rows]


def duplicates_of(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    targets: dict[str, str] = {}
    for chunk in chunks(list(ids)):
        query = (
            select(links.c.source, links.c.target)
            .where(links.c.source.in_(chunk), links.c.kind == "duplicate")
            .order_by(links.c.source, links.c.target)
        )
        for source, target in connection.execute(query):
            targets.setdefault(source, target)
    return targets


def linked(connection: Connection, ids: Sequence[str]) -> dict[str, set[str]]:
    neighbours: dict[str, set[str]] = {}
    for chunk in chunks(list(ids)):
        ends = or_(links.c.source.in_(chunk), links.c.target.in_(chunk))
        for source, target in connection.execute(
            select(links.c.source, links.c.target).where(ends)
        ):
            neighbours.setdefault(source, set()).add(target)
            neighbours.setdefault(target, set()).add(source)
    return neighbours


def originals(connection: Connection, ids: Sequence[str]) -> Mapping[str, str]:
    ends = {question: question for question in ids}
    seen = {question: {question} for question in ids}
    moving = set(ids)
    while moving:
        targets = duplicates_of(connection, sorted({ends[question] for question in moving}))
        moving = {q for q in moving if targets.get(ends[q], q) not in seen[q]}
        for question in moving:
            ends[question] = targets[ends[question]]
            seen[question].add(ends[question])
    return ends
