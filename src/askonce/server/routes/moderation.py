"""Routes for moderators: links between questions, proposals, decisions and undoing them."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query

from askonce.archive.desk.decisions import Decision
from askonce.engine import Engine
from askonce.engine.hits import excerpt
from askonce.engine.moderation import (
    asked_again,
    decide,
    propose_answers,
    propose_duplicates,
    undo,
)
from askonce.server.guard.limits import MAX_RESULTS
from askonce.server.schemas.moderation import DecisionBody, DecisionRecord, Desk, LinkResponse
from askonce.server.schemas.requests import LinkBody
from askonce.server.service import Service
from askonce.types import Link

Limit = Annotated[
    int, Query(ge=1, le=MAX_RESULTS, description="Proposals of each kind.", examples=[20])
]
Least = Annotated[
    float,
    Query(ge=0.2, le=1, description="The least probability of a likely duplicate.", examples=[0.5]),
]
Number = Annotated[int, Path(ge=1, lt=2**31, description="The number of a decision.", examples=[7])]


def desk_routes(service: Service) -> APIRouter:
    """What waits for a moderator; it requires the write key, and does not hold up writes."""
    router = APIRouter(route_class=service.route("write", service.bulk), tags=["moderation"])
    engine = service.engine

    @router.get("/api/moderation", summary="List what waits for a moderator")
    async def desk(limit: Limit = 20, least: Least = 0.5) -> Desk:
        """Likely duplicates, unanswered questions with a likely answer, questions asked again.

        What is linked, or was dismissed, is not proposed.
        """
        return await service.run(_desk, engine, limit, least)

    return router


def moderation_routes(service: Service) -> APIRouter:
    """All of them require the write key."""
    router = APIRouter(route_class=service.route("write", service.writes), tags=["moderation"])
    engine = service.engine

    @router.post("/api/links", status_code=201, summary="Link two questions")
    async def link(body: LinkBody) -> LinkResponse:
        """Mark a question as a duplicate of another, or as related to it."""
        kinds = engine.archive.kinds([body.source, body.target])
        for name in (body.source, body.target):
            if kinds.get(name) != "question":
                raise HTTPException(404, f"no question {name[:100]!r}")
        written = await service.run(engine.write, [], [_link(body)])
        return LinkResponse(changed=bool(written.links_added), change=written.change)

    @router.delete("/api/links", summary="Remove a link")
    async def unlink(body: LinkBody) -> LinkResponse:
        """Remove a link between two questions."""
        removed = await service.run(engine.remove_links, [_link(body)])
        change = await service.run(lambda: engine.archive.change)
        return LinkResponse(changed=bool(removed), change=change)

    @router.post("/api/decisions", status_code=201, summary="Decide about two posts")
    async def add_decision(body: DecisionBody) -> DecisionRecord:
        """Mark as a duplicate, link as related, dismiss for good, or merge.

        Merging marks ``source`` as a duplicate and moves its answers to ``target``.
        """
        decision = await service.run(decide, engine, body.kind, body.source, body.target)
        return (await service.run(_records, engine, [decision]))[0]

    @router.delete("/api/decisions/{number}", summary="Undo a decision")
    async def undo_decision(number: Number) -> DecisionRecord:
        """Remove the link, move merged answers back, or propose a dismissed pair again."""
        decision = await service.run(undo, engine, number)
        if decision is None:
            raise HTTPException(404, f"no decision {number}")
        return (await service.run(_records, engine, [decision]))[0]

    return router


def _desk(engine: Engine, limit: int, least: float) -> Desk:
    return Desk(
        duplicates=propose_duplicates(engine, limit, least),
        answers=propose_answers(engine, limit),
        asked_again=asked_again(engine, limit, least),
        decisions=_records(engine, engine.archive.decisions.recent(limit)),
    )


def _records(engine: Engine, decisions: Sequence[Decision]) -> list[DecisionRecord]:
    """Decisions with the titles of what they are about."""
    names = {name for one in decisions for name in (one.source, one.target)}
    posts = engine.archive.posts(sorted(names), html=False)
    parents = engine.archive.titles(sorted({post.parent for post in posts.values() if post.parent}))
    titles = {  # of an answer, that of its question
        name: post.title or parents.get(post.parent or "") or excerpt(post.body)
        for name, post in posts.items()
    }
    return [
        DecisionRecord(
            number=one.number,
            kind=one.kind,
            source=one.source,
            source_title=titles.get(one.source, ""),
            target=one.target,
            target_title=titles.get(one.target, ""),
            moved=list(one.moved),
            made=one.made,
        )
        for one in decisions
    ]


def _link(body: LinkBody) -> Link:
    return Link(body.source, body.target, body.kind)
