"""Searches that the operator chose to log: no visitor, no address, a day instead of a time."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Integer, cast, func, select

from askonce.archive.desk.options import DeskTable
from askonce.archive.tables import searches

LONGEST = 200  # characters of a question
_PERSONAL = re.compile(r"\S+@\S+|https?://\S+|\+?\d[\d ()/.-]{5,}\d")  # mail, address, phone


@dataclass(frozen=True)
class LoggedSearch:
    day: str  # YYYY-MM-DD
    question: str
    claimed: bool  # a question was said to be the same
    answered: bool  # and it has an answer


def loggable(question: str) -> str:
    """The question in lower case without what may identify a person."""
    return _PERSONAL.sub("…", " ".join(question.lower().split()))[:LONGEST]


class SearchTable(DeskTable):
    def add(self, new: Iterable[LoggedSearch]) -> None:
        rows = [asdict(search) for search in new]
        if rows:
            with self._writing() as connection:
                connection.execute(searches.insert(), rows)

    def remove_before(self, day: str) -> None:
        with self._writing() as connection:
            connection.execute(searches.delete().where(searches.c.day < day))

    def by_day(self) -> list[dict[str, Any]]:
        """How many searches each day had, and how many of them a good hit and an answer."""
        query = select(searches.c.day, *_counts()).group_by(searches.c.day).order_by(searches.c.day)
        with self._reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def top(self, limit: int | None = None, unclaimed: bool = False) -> list[dict[str, Any]]:
        """The most frequent searches, or the most frequent without a good hit."""
        count, claimed, answered = _counts()
        query = select(searches.c.question, count, claimed, answered).group_by(searches.c.question)
        if unclaimed:
            query = query.where(~searches.c.claimed)
        query = query.order_by(count.desc(), searches.c.question).limit(limit)
        with self._reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]


def _counts() -> Sequence[ColumnElement[int]]:
    return (
        func.count().label("searches"),
        func.sum(cast(searches.c.claimed, Integer)).label("claimed"),
        func.sum(cast(searches.c.answered, Integer)).label("answered"),
    )
