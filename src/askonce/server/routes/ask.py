"""Routes that answer questions."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Response
from pydantic_core import to_json

from askonce.archive.rows import MOST_TAGS
from askonce.engine import Why
from askonce.engine.context import Context, context
from askonce.engine.options import ResultOptions, Sort
from askonce.engine.workers.asking import AskOptions, FoundHits, encode
from askonce.ranking.stages import RANKERS, TYPED
from askonce.server.guard.limits import (
    MAX_OFFSET,
    MAX_QUESTION,
    MAX_RESULTS,
    MAX_TEXT,
    VISIBLE,
)
from askonce.server.schemas.ask import (
    AnswersResponse,
    AskResponse,
    DuplicatesResponse,
    RankersResponse,
    SimilarResponse,
)
from askonce.server.schemas.requests import Date, Draft, PostId, TagName
from askonce.server.service import Service
from askonce.text.sanitise import clean_text

Question = Annotated[
    str,
    Query(
        min_length=1,
        max_length=MAX_QUESTION,
        description="The question to search for.",
        examples=["my back wheel keeps losing air overnight"],
        json_schema_extra={"pattern": VISIBLE},
    ),
]
Count = Annotated[int, Query(ge=1, le=MAX_RESULTS, description="Number of results.", examples=[10])]
RankerName = Annotated[
    str,
    Query(
        max_length=50,
        description="One of GET /api/rankers.",
        examples=["best"],
        json_schema_extra={"enum": list(RANKERS)},
    ),
]
Votes = Annotated[bool, Query(description="Prefer upvoted and accepted answers.", examples=[True])]


async def _results(  # a coroutine: FastAPI runs other functions in a thread
    tag: Annotated[
        list[TagName],
        Query(
            max_length=MOST_TAGS,
            description="Only questions with this tag; repeatable.",
            examples=[["tyres"]],
        ),
    ] = [],  # noqa: B006 - FastAPI copies it
    after: Annotated[
        Date | None, Query(description="The earliest date of a result.", examples=["2021-01-01"])
    ] = None,
    before: Annotated[
        Date | None, Query(description="The latest date of a result.", examples=["2021-12-31"])
    ] = None,
    answered: Annotated[
        bool | None,
        Query(description="Only questions with, or without, an answer.", examples=[True]),
    ] = None,
    sort: Annotated[
        Sort, Query(description="Order of the most relevant results.", examples=["relevance"])
    ] = "relevance",
    offset: Annotated[
        int, Query(ge=0, le=MAX_OFFSET, description="Results to skip.", examples=[0])
    ] = 0,
    fold: Annotated[
        bool, Query(description="Show the original in place of its duplicates.", examples=[True])
    ] = True,
) -> ResultOptions:
    return ResultOptions(tuple(tag), after, before, answered, sort, offset, fold)


Results = Annotated[ResultOptions, Depends(_results)]


def ask_routes(service: Service) -> APIRouter:
    router = APIRouter(route_class=service.route("read", service.queries), tags=["ask"])

    @router.get("/api/similar", summary="Find similar questions", response_model=SimilarResponse)
    async def similar(
        q: Question, results: Results, k: Count = 10, ranker: RankerName = "best"
    ) -> Response:
        """Questions in the archive that match best, best first."""
        found, shared = await _found(service, q, AskOptions("similar", k, ranker, True, results))
        return _response(shared, similar=found.similar)

    @router.get("/api/answers", summary="Find answers", response_model=AnswersResponse)
    async def answers(
        q: Question,
        results: Results,
        k: Count = 10,
        ranker: RankerName = "best",
        votes: Votes = True,
    ) -> Response:
        """Answers in the archive that match best, by their own text and by their question's."""
        found, shared = await _found(service, q, AskOptions("answers", k, ranker, votes, results))
        return _response(shared, answers=found.answers)

    @router.get(
        "/api/ask", summary="Find similar questions and answers", response_model=AskResponse
    )
    async def ask(
        q: Question,
        results: Results,
        k: Count = 10,
        ranker: RankerName = "best",
        votes: Votes = True,
    ) -> Response:
        """Similar questions and answers in one call."""
        options = AskOptions("ask", k, ranker, votes, results)
        found, shared = await _found(service, q, options)
        service.searches.add(shared["query"], found.good, found.answered, results)
        return _response(shared, similar=found.similar, answers=found.answers)

    @router.post(
        "/api/duplicates",
        summary="Check whether a draft was asked before",
        response_model=DuplicatesResponse,
    )
    async def duplicates(draft: Draft) -> Response:
        """Check a question while it is being typed; an empty draft has no similar questions."""
        started, question = time.perf_counter(), _cleaned(f"{draft.title}\n{draft.body}")
        options = AskOptions("similar", draft.k, TYPED)  # as ``Engine.suggest``
        found = await service.find(question, options) if question else encode([], [])
        shared = {"took_ms": elapsed_ms(started), "duplicate": found.claimed}
        return _response(shared, similar=found.similar)

    @router.get("/api/why", summary="Explain the rank of a post")
    async def why(
        q: Question,
        id: Annotated[PostId, Query(description="The id of a result.", examples=["q002"])],
    ) -> Why:
        """The score of each stage, and the words that mattered."""
        question = required(q)
        if await service.run(service.engine.archive.post, id) is None:
            raise HTTPException(404, f"no post {id!r}")
        return await service.run(service.engine.why, question, id)

    @router.get("/api/rankers", summary="List the rankers")
    async def rankers() -> RankersResponse:
        """The values that ``ranker`` accepts; a trained model adds more."""
        return RankersResponse(rankers=service.engine.rankers())

    return router


def context_routes(service: Service) -> APIRouter:
    router = APIRouter(route_class=service.route("read", service.bulk), tags=["ask"])

    @router.get("/api/context", summary="Passages for a language model")
    async def passages(
        q: Question,
        characters: Annotated[
            int,
            Query(ge=200, le=MAX_TEXT, description="Length of the text at most.", examples=[4000]),
        ] = 4000,
    ) -> Context:
        """The best passages of answers, with their sources, and the same as one text."""
        return await service.run(context, service.engine, required(q), characters)

    return router


async def _found(service: Service, q: str, options: AskOptions) -> tuple[FoundHits, dict[str, Any]]:
    """The hits as JSON, and the fields that all responses share."""
    started, question = time.perf_counter(), required(q)
    found = await service.find(question, options)
    return found, {"query": question, "ranker": options.ranker, "took_ms": elapsed_ms(started)}


def _response(fields: dict[str, Any], **hits: bytes) -> Response:
    """A response of these fields and lists of hits, which are JSON already."""
    parts = [to_json(fields)[:-1], *(b',"%s":%s' % (k.encode(), v) for k, v in hits.items())]
    return Response(b"".join((*parts, b"}")), media_type="application/json")


def required(text: str) -> str:
    question = _cleaned(text)
    if not question:
        raise HTTPException(422, "the question is empty; type a question")
    return question


def _cleaned(text: str) -> str:
    return clean_text(text, " ").strip()


def elapsed_ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)
