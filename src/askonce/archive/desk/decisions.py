"""What moderators decided about pairs of posts, so that it can be undone and is not asked again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Row, select

from askonce.archive.desk.options import Connect
from askonce.archive.tables import decisions
from askonce.archive.writing import advance_change, partners
from askonce.types import utc_now

DecisionKind = Literal["duplicate", "related", "dismiss", "merge"]


@dataclass(frozen=True)
class Decision:
    number: int
    kind: DecisionKind
    source: str
    target: str
    moved: tuple[str, ...]  # answers that a merge moved to the target
    made: str  # ISO 8601, UTC


class DecisionTable:
    """The decisions of an archive. Each takes a change number, and so does undoing it."""

    def __init__(self, reading: Connect, writing: Connect) -> None:
        self._reading, self._writing = reading, writing

    def add(
        self, kind: DecisionKind, source: str, target: str, moved: Sequence[str] = ()
    ) -> Decision:
        made = utc_now()
        row: dict[str, Any] = {"kind": kind, "source": source, "target": target, "made": made}
        with self._writing() as connection:
            statement = decisions.insert().returning(decisions.c.number)
            number = connection.execute(statement, row | {"moved": json.dumps(list(moved))})
            advance_change(connection, 1)
            return Decision(int(number.scalar_one()), kind, source, target, tuple(moved), made)

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

    def dismissed(self) -> list[tuple[str, str]]:
        query = select(decisions.c.source, decisions.c.target).where(decisions.c.kind == "dismiss")
        with self._reading() as connection:
            return [(row.source, row.target) for row in connection.execute(query)]

    def dismissed_with(self, ids: Sequence[str]) -> dict[str, set[str]]:
        """The posts that each of these was dismissed with, in either direction."""
        with self._reading() as connection:
            return partners(connection, decisions, ids, decisions.c.kind == "dismiss")


def _decision(row: Row[Any]) -> Decision:
    moved = tuple(json.loads(row.moved))
    return Decision(row.number, row.kind, row.source, row.target, moved, row.made)
