"""What a server with several archives answers beside theirs: the list, a joint search, health."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from anyio import to_thread
from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse

from askonce.engine import RankedAnswer, SimilarQuestion
from askonce.engine.options import DEFAULT
from askonce.engine.workers.asking import AskOptions, good_hits
from askonce.errors import AskonceError, shorten
from askonce.server.errors import RESPONSES
from askonce.server.guard.lanes import RETRY
from askonce.server.metrics import LabelledMetrics, Metrics, UnservedArchive
from askonce.server.routes.ask import Count, Question, elapsed_ms, required
from askonce.server.routes.health import METRICS, PROMETHEUS, health_router
from askonce.server.routes.page import render
from askonce.server.schemas.several import FoundAnswer, FoundQuestion, Readiness, SearchResponse
from askonce.server.several.members import Member, readable

METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]
log = logging.getLogger("askonce.server")
Members = Mapping[str, Member]


class Hits(NamedTuple):
    """What one archive answered."""

    similar: list[SimilarQuestion]
    answers: list[RankedAnswer]


def search_routes(members: Members) -> APIRouter:
    router = APIRouter(tags=["ask"])

    @router.get("/api/search", summary="Search several archives", responses=RESPONSES)
    async def search(
        request: Request,
        q: Question,
        k: Count = 10,
        archive: Annotated[
            list[str],
            Query(description="Search this archive; repeatable. Default: all.", examples=[["a"]]),
        ] = [],  # noqa: B006 - FastAPI copies it
    ) -> SearchResponse:
        """Similar questions and answers of the archives that the API key may read."""
        started, question = time.perf_counter(), required(q)
        unknown = next((name for name in archive if name not in members), None)
        if unknown is not None:
            known = ", ".join(members)
            raise HTTPException(404, f"no archive {shorten(unknown)}; this server has {known}")
        asked = readable([members[name] for name in dict.fromkeys(archive or members)], request)
        hits, failed = await _ask_all(asked, question, k)
        similar, joined_by = join_similar({name: own.similar for name, own in hits.items()}, k)
        answers = join_by_rank({name: own.answers for name, own in hits.items()}, k)
        return SearchResponse.model_construct(
            query=question,
            took_ms=elapsed_ms(started),
            joined_by=joined_by,
            searched=list(hits),
            failed=failed,
            similar=[FoundQuestion.model_construct(archive=n, **vars(h)) for n, h in similar],
            answers=[FoundAnswer.model_construct(archive=n, **vars(h)) for n, h in answers],
        )

    return router


def health_routes(members: Members, own: Metrics) -> APIRouter:
    """Liveness, readiness and metrics of the server as a whole; each archive has its own too."""
    router = health_router()
    not_ready: dict[int | str, dict[str, Any]] = {
        503: {"model": Readiness, "description": "Not ready"}
    }

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz", summary="Readiness", responses=not_ready)
    async def readyz(response: Response) -> Readiness:
        """200 once no archive is being opened and at least one can be searched, 503 before."""
        state = await to_thread.run_sync(_readiness, members)
        if not state.ready:
            response.status_code = 503
            response.headers.update(RETRY)
        return state

    @router.head("/metrics", include_in_schema=False)
    @router.get("/metrics", summary="Prometheus", response_class=Response, responses=METRICS)
    async def metrics(request: Request) -> Response:
        """The metrics of the archives that the API key may read, with the label ``archive``."""
        shown = {
            member.name: member.service.metrics if member.service else Metrics(UnservedArchive())
            for member in readable(members.values(), request)
        }
        labelled = LabelledMetrics({"": own, **shown})
        return Response(await to_thread.run_sync(labelled.text), media_type=PROMETHEUS)

    return router


def list_routes(members: Members) -> APIRouter:
    """The list of archives at ``/``, and the answers of those that cannot be served."""
    router = APIRouter(include_in_schema=False)

    @router.api_route("/", methods=["GET", "HEAD"])
    async def archives() -> Response:
        state = await to_thread.run_sync(_readiness, members)
        return render("archives.html", names=list(members), state=state)

    @router.api_route("/{name}", methods=["GET", "HEAD"])
    async def without_slash(name: str, request: Request) -> Response:
        _one(members, name)
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"{name}/{query}")  # the page's own addresses are relative

    @router.api_route("/{name}/{path:path}", methods=METHODS)
    async def not_served(name: str) -> None:
        _one(members, name).needed()

    return router


def _one(members: Members, name: str) -> Member:
    if name not in members:
        raise HTTPException(404)
    return members[name]


async def _ask_all(
    asked: list[Member], question: str, k: int
) -> tuple[dict[str, Hits], dict[str, str]]:
    """The hits of the archives that answered, and why the others did not; 503 if none did."""
    jobs = [_ask_one(member, question, k) for member in asked]
    outcomes = await asyncio.gather(*jobs, return_exceptions=True)
    hits, failed = {}, {}
    for member, outcome in zip(asked, outcomes, strict=True):
        if isinstance(outcome, Hits):
            hits[member.name] = outcome
        elif isinstance(outcome, HTTPException):
            failed[member.name] = str(outcome.detail)
        elif isinstance(outcome, AskonceError):
            failed[member.name] = str(outcome)
        elif isinstance(outcome, Exception):  # a fault of one archive is none of the others
            log.error("cannot search the archive %s", member.name, exc_info=outcome)
            failed[member.name] = "unexpected error; look in the server log"
        else:
            raise outcome
    if not hits:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        raise HTTPException(503, reasons, RETRY)
    return hits, failed


async def _ask_one(member: Member, question: str, k: int) -> Hits:
    """Ask one archive, within its own limits."""
    service = member.needed()
    async with service.queries.slot():
        hits = Hits(*await service.ask(question, AskOptions("ask", k, "best")))
    good = good_hits(hits.similar)
    service.searches.add(question, bool(good), any(hit.answers for hit in good), DEFAULT)
    return hits


def _readiness(members: Members) -> Readiness:
    states = {name: member.status() for name, member in members.items()}
    known = {name: status for name, status in states.items() if status is not None}
    ready = bool(known) and all(status.ready for status in known.values())
    failed = [name for name, status in states.items() if status is None]
    return Readiness(ready=ready, archives=known, failed=failed)


AnyHit = TypeVar("AnyHit")
JoinedBy = Literal["probability", "rank"]


def join_similar(
    similar: Mapping[str, Sequence[SimilarQuestion]], k: int
) -> tuple[list[tuple[str, SimilarQuestion]], JoinedBy]:
    """The best questions of all archives with the names of theirs, and how they were compared.

    Calibrated probabilities mean the same in every archive. Scores do not, so without a
    probability for each hit the ranks decide.
    """
    hits = [hit for own in similar.values() for hit in own]
    if any(hit.duplicate_probability is None for hit in hits):
        return join_by_rank(similar, k), "rank"
    return _join(similar, k, lambda hit: -(hit.duplicate_probability or 0.0)), "probability"


def join_by_rank(hits: Mapping[str, Sequence[AnyHit]], k: int) -> list[tuple[str, AnyHit]]:
    """The first of each archive, then the second of each, and so on: the order of reciprocal ranks.

    Archives share no posts, so a sum of reciprocal ranks has one term, which falls with the rank.
    """
    return _join(hits, k, lambda hit: 0.0)


def _join(
    hits: Mapping[str, Sequence[AnyHit]], k: int, key: Callable[[AnyHit], float]
) -> list[tuple[str, AnyHit]]:
    """Pinned hits first, then by the key, then by rank, then in the order of the archives."""
    ranked = [
        (not getattr(hit, "pinned", False), key(hit), rank, order, name, hit)
        for order, (name, own) in enumerate(hits.items())
        for rank, hit in enumerate(own)
    ]
    ranked.sort(key=lambda entry: entry[:4])
    return [(name, hit) for *_, name, hit in ranked[:k]]
