"""Figures about the whole archive: counts, growth by month, the latest questions."""

from typing import Any

from sqlalchemy import Connection, Row, case, func, select

from askonce.archive.tables import WITHOUT_HTML, links, posts, revisions

_ANSWERS = posts.alias()
_ANSWERED = (
    select(_ANSWERS.c.number).where(_ANSWERS.c.parent == posts.c.id, ~_ANSWERS.c.deleted).exists()
)


def counts(connection: Connection) -> dict[str, int]:
    accepted = func.sum(case((posts.c.accepted, 1), else_=0)).label("accepted")
    by_kind = {
        row.kind: row
        for row in connection.execute(
            select(posts.c.kind, func.count().label("n"), accepted)
            .where(~posts.c.deleted)
            .group_by(posts.c.kind)
        )
    }
    link_kinds = select(links.c.kind, func.count()).group_by(links.c.kind)
    by_link: dict[str, int] = dict(map(tuple, connection.execute(link_kinds)))
    answered = select(func.count(posts.c.parent.distinct())).where(
        posts.c.kind == "answer", ~posts.c.deleted
    )
    questions, answers = by_kind.get("question"), by_kind.get("answer")
    return {
        "questions": questions.n if questions else 0,
        "answers": answers.n if answers else 0,
        "accepted": int(answers.accepted) if answers else 0,
        "answered": connection.execute(answered).scalar_one(),
        "duplicates": by_link.get("duplicate", 0),
        "related": by_link.get("related", 0),
        "edits": connection.execute(select(func.count()).select_from(revisions)).scalar_one(),
    }


def growth(connection: Connection) -> list[tuple[str, int, int]]:
    month = func.substr(posts.c.created, 1, 7)
    query = (
        select(month, posts.c.kind, func.count())
        .where(~posts.c.deleted, posts.c.created.is_not(None))
        .group_by(month, posts.c.kind)
        .order_by(month)
    )
    months: dict[str, dict[str, int]] = {}
    for name, kind, count in connection.execute(query):
        months.setdefault(name, {})[kind] = count
    return [(name, n.get("question", 0), n.get("answer", 0)) for name, n in months.items()]


def popular(connection: Connection, limit: int) -> list[Row[Any]]:
    query = (
        select(*WITHOUT_HTML)
        .where(posts.c.kind == "question", ~posts.c.deleted, posts.c.title != "", _ANSWERED)
        .order_by(func.coalesce(posts.c.score, 0).desc(), posts.c.number)
    )
    return list(connection.execute(query.limit(limit)))


def newest(connection: Connection, limit: int, unanswered: bool) -> list[Row[Any]]:
    query = select(*WITHOUT_HTML).where(posts.c.kind == "question", ~posts.c.deleted)
    if unanswered:
        marked = select(links.c.source).where(
            links.c.source == posts.c.id, links.c.kind == "duplicate"
        )
        query = query.where(~_ANSWERED, ~marked.exists())
    return list(connection.execute(query.order_by(posts.c.number.desc()).limit(limit)))
