"""Routes that answer questions."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query

from askonce.archive.rows import MOST_TAGS
from askonce.engine import Why
from askonce.engine.context import Context, context
from askonce.engine.options import ResultOptions, Sort
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
from askonce.server.service import AskOptions, Service
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

    @router.get("/api/similar", summary="Find similar questions")
    async def similar(
        q: Question, results: Results, k: Count = 10, ranker: RankerName = "best"
    ) -> SimilarResponse:
        """Questions in the archive that match best, best first."""
        hits, shared = await _asked(service, q, AskOptions("similar", k, ranker, True, results))
        return SimilarResponse.model_construct(**shared, similar=hits)

    @router.get("/api/answers", summary="Find answers")
    async def answers(
        q: Question,
        results: Results,
        k: Count = 10,
        ranker: RankerName = "best",
        votes: Votes = True,
    ) -> AnswersResponse:
        """Answers in the archive that match best, by their own text and by their question's."""
        hits, shared = await _asked(service, q, AskOptions("answers", k, ranker, votes, results))
        return AnswersResponse.model_construct(**shared, answers=hits)

    @router.get("/api/ask", summary="Find similar questions and answers")
    async def ask(
        q: Question,
        results: Results,
        k: Count = 10,
        ranker: RankerName = "best",
        votes: Votes = True,
    ) -> AskResponse:
        """Similar questions and answers in one call."""
        options = AskOptions("ask", k, ranker, votes, results)
        (similar, answers), shared = await _asked(service, q, options)
        service.searches.add(shared["query"], similar, results)
        return AskResponse.model_construct(**shared, similar=similar, answers=answers)

    @router.post("/api/duplicates", summary="Check whether a draft was asked before")
    async def duplicates(draft: Draft) -> DuplicatesResponse:
        """Check a question while it is being typed; an empty draft has no similar questions."""
        started, question = time.perf_counter(), _cleaned(f"{draft.title}\n{draft.body}")
        options = AskOptions("similar", draft.k, TYPED)  # as ``Engine.suggest``
        hits = await service.ask(question, options) if question else []
        likely = any(hit.claimed for hit in hits)
        return DuplicatesResponse.model_construct(
            took_ms=elapsed_ms(started), duplicate=likely, similar=hits
        )

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


async def _asked(service: Service, q: str, options: AskOptions) -> tuple[Any, dict[str, Any]]:
    """The hits, and the fields that all responses share."""
    started, question = time.perf_counter(), required(q)
    hits = await service.ask(question, options)
    return hits, {"query": question, "ranker": options.ranker, "took_ms": elapsed_ms(started)}


def required(text: str) -> str:
    question = _cleaned(text)
    if not question:
        raise HTTPException(422, "the question is empty; type a question")
    return question


def _cleaned(text: str) -> str:
    return clean_text(text, " ").strip()


def elapsed_ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)
