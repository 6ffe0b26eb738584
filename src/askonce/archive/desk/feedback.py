"""What visitors said about hits: store their marks, and weigh them as labels for training.

A visitor is a salted hash of a random token that the page keeps; so is an address. Neither leads
back to a person.
"""

import hmac
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Literal

from sqlalchemy import ColumnElement, and_, select

from askonce.archive.desk.options import DeskTable
from askonce.archive.tables import feedback
from askonce.types import utc_now

Mark = Literal["answered", "same", "different", "click"]
RIGHT = ("answered", "same", "click")

VISITOR_CAP = 10.0  # marks' worth of influence of one visitor, however many marks there are
ADDRESS_CAP = 20.0  # the same for one address, which an office shares
CLICK = 0.2  # a click, relative to an explicit mark
MIN_STRENGTH = 0.5  # below this, a pair is not used as a label
FULL_STRENGTH = 2.0  # marks in agreement that make a label of full weight


@dataclass(frozen=True)
class Feedback:
    """One mark of one visitor on a post shown for a question."""

    visitor: str
    question: str
    post: str
    mark: Mark
    address: str = ""
    model: str | None = None
    rank: int | None = None  # of the post, counted from 1; None where it was not found
    probability: float | None = None
    given: str = ""  # ISO 8601, UTC

    @property
    def key(self) -> str:
        """The same for questions that differ in case and spaces only."""
        return sha256(" ".join(self.question.lower().split()).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class WeightedLabel:
    """What all marks together say about a question and a post."""

    question: str
    post: str
    weight: float  # 0 to 1: of the label
    right: bool
    source: str | None = None  # the question of the archive that a moderator decided about


class FeedbackTable(DeskTable):
    def add(self, new: Feedback) -> bool:
        """Store a mark in place of the visitor's earlier one on the pair; whether it is new.

        A click never replaces an explicit mark.
        """
        row = asdict(new) | {"question_key": new.key, "given": new.given or utc_now()}
        with self._writing() as connection:
            same = self._same(new.visitor, new.key, new.post)
            earlier = connection.execute(select(feedback.c.mark).where(same)).scalar()
            if earlier is not None and new.mark == "click":
                return False
            connection.execute(feedback.delete().where(same))
            connection.execute(feedback.insert(), row)
        return earlier is None

    def remove(self, visitor: str, question: str, post: str) -> bool:
        """Take a mark back; whether there was one."""
        key = Feedback(visitor, question, post, "same").key
        with self._writing() as connection:
            same = self._same(visitor, key, post)
            return connection.execute(feedback.delete().where(same)).rowcount > 0

    def all(self) -> list[Feedback]:
        columns = [column for column in feedback.c if column.name != "question_key"]
        query = select(*columns).order_by(feedback.c.given, feedback.c.visitor, feedback.c.post)
        with self._reading() as connection:
            return [Feedback(**row) for row in connection.execute(query).mappings()]

    def _same(self, visitor: str, key: str, post: str) -> ColumnElement[bool]:
        table = feedback.c
        return and_(table.visitor == visitor, table.question_key == key, table.post == post)


def anonymous(salt: bytes, value: str) -> str:
    """A hash that tells visitors or addresses apart and cannot be turned back."""
    return hmac.new(salt, value.encode("utf-8", "surrogateescape"), sha256).hexdigest()[:32]


def weigh_marks(marks: Iterable[Feedback]) -> tuple[WeightedLabel, ...]:
    """The label of each pair of question and post on which enough marks agree.

    The marks of one visitor, and those from one address, share a limited influence: the more there
    are, the less each counts. Marks for and against a pair cancel each other. The weight of a label
    grows with the marks that are left, up to 1.
    """
    marks = list(marks)
    given = Counter(mark.visitor for mark in marks)
    sent = Counter(f"address {mark.address}" for mark in marks)
    influence = {name: min(1.0, VISITOR_CAP / count) for name, count in given.items()}
    influence |= {name: min(1.0, ADDRESS_CAP / count) for name, count in sent.items()}
    sums: defaultdict[tuple[str, str], float] = defaultdict(float)
    questions: dict[str, str] = {}
    for mark in marks:
        questions.setdefault(mark.key, mark.question)
        share = min(influence[mark.visitor], influence[f"address {mark.address}"])
        value = share * (CLICK if mark.mark == "click" else 1.0)
        sums[mark.key, mark.post] += value if mark.mark in RIGHT else -value
    return tuple(
        WeightedLabel(questions[key], post, min(1.0, abs(total) / FULL_STRENGTH), total > 0)
        for (key, post), total in sums.items()
        if abs(total) >= MIN_STRENGTH - 1e-9
    )


@dataclass(frozen=True)
class FeedbackWeek:
    """The marks of one week, and how well what served did on them."""

    week: str  # Monday, YYYY-MM-DD
    models: tuple[str, ...]  # that served, oldest first
    marks: int
    right: int
    wrong: int
    mrr: float | None  # of the posts marked as right, as they were ranked then
    false_claims: int  # posts marked as different that were claimed to be the same


def by_week(marks: Iterable[Feedback], floor: float) -> list[FeedbackWeek]:
    """Explicit marks by week; ``floor`` is the probability above which a hit is claimed."""
    weeks: defaultdict[str, list[Feedback]] = defaultdict(list)
    for mark in marks:
        if mark.mark != "click":
            day = datetime.fromisoformat(mark.given).date()
            monday = day - timedelta(days=day.weekday())
            weeks[monday.isoformat()].append(mark)
    return [_week(week, weeks[week], floor) for week in sorted(weeks)]


def _week(week: str, marks: list[Feedback], floor: float) -> FeedbackWeek:
    right = [mark for mark in marks if mark.mark in RIGHT]
    wrong = [mark for mark in marks if mark.mark not in RIGHT]
    ranks = [1 / mark.rank if mark.rank else 0.0 for mark in right]
    return FeedbackWeek(
        week,
        tuple(dict.fromkeys(mark.model or "bm25" for mark in marks)),
        len(marks),
        len(right),
        len(wrong),
        sum(ranks) / len(ranks) if ranks else None,
        sum((mark.probability or 0.0) >= floor for mark in wrong),
    )
