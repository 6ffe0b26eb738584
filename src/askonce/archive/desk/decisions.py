"""What moderators decided about pairs of posts, so that it can be undone and is not asked again."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import Row, and_, select

from askonce.archive.desk.options import DeskTable
from askonce.archive.tables import decisions
from askonce.archive.tables import posts as post_rows
from askonce.archive.writing import advance_change, partners
from askonce.types import Post, utc_now

DecisionKind = Literal["duplicate", "related", "dismiss", "merge"]


@dataclass(frozen=True)
class Decision:
    number: int
    kind: DecisionKind
    source: str
    target: str
    moved: tuple[str, ...]  # answers that a merge moved to the target
    made: str  # ISO 8601, UTC
    linked: bool = True  # it added the link; otherwise the link was there before


class DecisionTable(DeskTable):
    """The decisions of an archive. Each takes a change number, and so does undoing it."""

    def add(
        self,
        kind: DecisionKind,
        source: str,
        target: str,
        moved: Sequence[str] = (),
        linked: bool = True,
    ) -> Decision:
        made = utc_now()
        row: dict[str, Any] = {"kind": kind, "source": source, "target": target, "made": made}
        with self._writing() as connection:
            statement = decisions.insert().returning(decisions.c.number)
            stored = json.dumps({"answers": list(moved), "linked": linked})
            number = int(connection.execute(statement, row | {"moved": stored}).scalar_one())
            advance_change(connection, 1)
        return Decision(number, kind, source, target, tuple(moved), made, linked)

    def get(self, number: int) -> Decision | None:
        with self._reading() as connection:
            row = connection.execute(select(decisions).where(decisions.c.number == number)).first()
        return _decision(row) if row is not None else None

    def remove(self, number: int) -> None:
        with self._writing() as connection:
            connection.execute(decisions.delete().where(decisions.c.number == number))
            advance_change(connection, 1)

    def recent(self, limit: int) -> list[Decision]:
        query = select(decisions).order_by(decisions.c.number.desc()).limit(limit)
        with self._reading() as connection:
            return [_decision(row) for row in connection.execute(query)]

    def keep_merged(self, posts: Iterable[Post]) -> list[Post]:
        """The posts of a forum; answers that a moderator merged stay with the question they joined.

        The forum knows nothing of the merge and would move them back.
        """
        posts = list(posts)
        there = and_(post_rows.c.id == decisions.c.target, ~post_rows.c.deleted)
        query = select(decisions).join(post_rows, there).where(decisions.c.kind == "merge")
        with self._reading() as connection:
            merges = [_decision(row) for row in connection.execute(query)]
        targets = {(name, one.source): one.target for one in merges for name in one.moved}
        if not targets:
            return posts
        return [
            replace(post, parent=targets.get((post.id, post.parent or ""), post.parent))
            for post in posts
        ]

    def dismissed(self) -> list[tuple[str, str]]:
        query = select(decisions.c.source, decisions.c.target).where(decisions.c.kind == "dismiss")
        with self._reading() as connection:
            return [(row.source, row.target) for row in connection.execute(query)]

    def dismissed_with(self, ids: Sequence[str]) -> dict[str, set[str]]:
        """The posts that each of these was dismissed with, in either direction."""
        with self._reading() as connection:
            return partners(connection, decisions, ids, decisions.c.kind == "dismiss")


def _decision(row: Row[Any]) -> Decision:
    stored = json.loads(row.moved)
    known = stored if isinstance(stored, dict) else {"answers": stored, "linked": True}
    moved = tuple(known["answers"])
    return Decision(row.number, row.kind, row.source, row.target, moved, row.made, known["linked"])
