"""The links between questions: read, add and remove them.

Each link that is added or removed takes a change number of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, and_, bindparam, select

from askonce.archive.tables import links
from askonce.archive.writing import advance_change, chunks
from askonce.errors import AskonceError
from askonce.types import Link, LinkKind

_DUPLICATES = (
    select(links.c.source, links.c.target)
    .where(links.c.source.in_(bindparam("ids", expanding=True)), links.c.kind == "duplicate")
    .order_by(links.c.source, links.c.target)
)


class AddedLinks(NamedTuple):
    """The links that were new, those that were refused, and the change number after them.

    A link is circular if it leads from a question to itself, or if it would make a question a
    duplicate of its own duplicate.
    """

    added: list[Link]
    circular: list[Link]
    change: int

    def all_or_error(self) -> "AddedLinks":
        """Raise an error that names the first circular link, if there is one."""
        for source, target in ((link.source, link.target) for link in self.circular):
            if source == target:
                raise AskonceError(
                    f"question {source!r} cannot be linked to itself; name two questions"
                )
            raise AskonceError(
                f"{source!r} cannot be a duplicate of {target!r}, which is a duplicate of "
                f"{source!r} itself; remove that link first"
            )
        return self


def add_links(connection: Connection, new: Iterable[Link]) -> AddedLinks:
    """Add those of these links that do not exist and are not circular."""
    missing = dict.fromkeys(new)  # in order, each once
    for link in _existing(connection, list(missing)):
        del missing[link]
    added, circular = _acyclic(connection, list(missing))
    if added:
        connection.execute(links.insert(), [_row(link) for link in added])
    return AddedLinks(added, circular, advance_change(connection, len(added)))


def remove_links(connection: Connection, unwanted: Iterable[Link]) -> list[Link]:
    """Remove those of these links that exist, and return them."""
    removed = _existing(connection, list(dict.fromkeys(unwanted)))
    for link in removed:
        connection.execute(links.delete().where(*(links.c[k] == v for k, v in _row(link).items())))
    advance_change(connection, len(removed))
    return removed


def _row(link: Link) -> dict[str, str]:
    return {"source": link.source, "target": link.target, "kind": link.kind}


def _existing(connection: Connection, wanted: Sequence[Link]) -> list[Link]:
    stored: set[Link] = set()
    for chunk in chunks(sorted({link.source for link in wanted})):
        rows = connection.execute(select(links).where(links.c.source.in_(chunk)))
        stored |= {Link(row.source, row.target, row.kind) for row in rows}
    return [link for link in wanted if link in stored]


def _acyclic(connection: Connection, new: Sequence[Link]) -> tuple[list[Link], list[Link]]:
    """Links that can be added in this order, and those that are circular."""
    targets_of = _reachable(connection, [x.target for x in new if x.kind == "duplicate"])
    added, circular = [], []
    for link in new:
        if link.source == link.target or (
            link.kind == "duplicate" and _leads(targets_of, link.target, link.source)
        ):
            circular.append(link)
            continue
        added.append(link)
        if link.kind == "duplicate":
            targets_of.setdefault(link.source, set()).add(link.target)
    return added, circular


def _leads(targets_of: Mapping[str, set[str]], start: str, end: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        name = waiting.pop()
        if name == end:
            return True
        further = targets_of.get(name, set()) - seen
        seen |= further
        waiting.extend(further)
    return False


def _reachable(connection: Connection, ids: Sequence[str]) -> dict[str, set[str]]:
    """The duplicate links that chains from these questions go through, by their sources."""
    targets_of: dict[str, set[str]] = {}
    pair = (links.c.source, links.c.target)
    for chunk in chunks(sorted(set(ids))):
        first = select(*pair).where(links.c.source.in_(chunk), links.c.kind == "duplicate")
        chain = first.cte("chain", recursive=True)
        onwards = and_(links.c.source == chain.c.target, links.c.kind == "duplicate")
        # a union without repeats also ends in the cycles of older archives
        chain = chain.union(select(*pair).join(chain, onwards))
        for source, target in connection.execute(select(chain)):
            targets_of.setdefault(source, set()).add(target)
    return targets_of


def all_links(connection: Connection, kind: LinkKind | None) -> list[Link]:
    query = select(links) if kind is None else select(links).where(links.c.kind == kind)
    rows = connection.execute(query.order_by(links.c.source, links.c.target, links.c.kind))
    return [Link(row.source, row.target, row.kind) for row in rows]


def duplicates_of(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    targets: dict[str, str] = {}
    for chunk in chunks(list(ids)):
        for source, target in connection.execute(_DUPLICATES, {"ids": chunk}):
            targets.setdefault(source, target)
    return targets


def originals(
    ids: Sequence[str], duplicates_of: Callable[[Sequence[str]], Mapping[str, str]]
) -> Mapping[str, str]:
    ends = {question: question for question in ids}
    seen: dict[str, set[str]] = {}  # the way of each question that has moved
    moving = list(ends)
    while moving and (targets := duplicates_of(sorted({ends[question] for question in moving}))):
        moving = [q for q in moving if ends[q] in targets]  # few: most questions are originals
        moving = [q for q in moving if targets[ends[q]] not in seen.setdefault(q, {q})]
        for question in moving:
            ends[question] = targets[ends[question]]
            seen[question].add(ends[question])
    return ends
