"""Record what visitors say about hits, and report how well what serves does on it."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from askonce.archive import Archive
from askonce.archive.desk.feedback import Feedback, Mark, anonymous, by_week
from askonce.errors import AskonceError
from askonce.ranking.stages import DEPTH
from askonce.types import PostKind

if TYPE_CHECKING:
    from askonce.engine.engine import Engine

KINDS: dict[str, PostKind] = {"answered": "answer", "same": "question", "different": "question"}


def record_feedback(
    engine: "Engine", question: str, post_id: str, mark: Mark, visitor: str, address: str
) -> bool:
    """Store a mark with the model that serves and the rank that it gives the post now."""
    post = engine.archive.post(post_id)
    if post is None:
        raise AskonceError(f"no post {post_id!r} in this archive")
    if post.kind != KINDS.get(mark, post.kind):
        raise AskonceError(f"mark {mark!r} is for {KINDS[mark]}s; {post_id!r} is a {post.kind}")
    rank, probability = _standing(engine, question, post_id, post.kind)
    salt = engine.archive.options.salt()
    return engine.archive.feedback.add(
        Feedback(
            anonymous(salt, visitor),
            question,
            post_id,
            mark,
            anonymous(salt, f"address {address}"),
            engine.status().model,
            rank,
            probability,
        )
    )


def remove_feedback(archive: Archive, question: str, post_id: str, visitor: str) -> bool:
    """Take a visitor's mark back; whether there was one."""
    return archive.feedback.remove(anonymous(archive.options.salt(), visitor), question, post_id)


def feedback_report(archive: Archive, floor: float) -> list[dict[str, Any]]:
    """The marks by week; ``floor`` is the probability from which on a hit is claimed."""
    return [asdict(week) for week in by_week(archive.feedback.all(), floor)]


def _standing(
    engine: "Engine", question: str, post_id: str, kind: PostKind
) -> tuple[int | None, float | None]:
    """The rank of a post for a question, counted from 1, and its probability."""
    if kind == "answer":
        ids = [hit.id for hit in engine.answers(question, DEPTH)]
        return (ids.index(post_id) + 1 if post_id in ids else None), None
    for rank, hit in enumerate(engine.similar(question, DEPTH), start=1):
        if post_id in (hit.id, *(folded.id for folded in hit.folded)):
            return rank, hit.duplicate_probability
    return None, None
