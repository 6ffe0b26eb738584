"""Routes that answer questions."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query

from askonce.engine import Why
from askonce.ranking.stages import RANKERS
from askonce.server.guard.limits import MAX_QUESTION, MAX_RESULTS, VISIBLE
from askonce.server.schemas.ask import (
    AnswersResponse,
    AskResponse,
    DuplicatesResponse,
    RankersResponse,
    SimilarResponse,
)
from askonce.server.schemas.requests import Draft, PostId
from askonce.server.service import AskOptions, Service
from askonce.text.sanitise import clean_text

MIN_PROBABILITY = 0.5  # for a draft to be called a duplicate

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
Results = Annotated[
    int, Query(ge=1, le=MAX_RESULTS, description="Number of results.", examples=[10])
]
RankerName = Annotated[
    str,
    Query(
        max_length=50,
        description="One of GET /api/rankers.",
        examples=["best"],
        json_schema_extra={"enum": list(RANKERS)},
    ),
]
Votes = Annotated[bool, Query(description="Prefer upvoted and accepted answers.", examples=[False])]


def ask_routes(service: Service) -> APIRouter:
    router = APIRouter(route_class=service.route("read", service.queries), tags=["ask"])

    @router.get("/api/similar", summary="Find similar questions")
    async def similar(q: Question, k: Results = 10, ranker: RankerName = "best") -> SimilarResponse:
        """Questions in the archive that match best, best first."""
        hits, shared = await _asked(service, q, AskOptions("similar", k, ranker))
        return SimilarResponse.model_construct(**shared, similar=hits)

    @router.get("/api/answers", summary="Find answers")
    async def answers(
        q: Question, k: Results = 10, ranker: RankerName = "best", votes: Votes = False
    ) -> AnswersResponse:
        """Answers in the archive that match best, by their own text and by their question's."""
        hits, shared = await _asked(service, q, AskOptions("answers", k, ranker, votes))
        return AnswersResponse.model_construct(**shared, answers=hits)

    @router.get("/api/ask", summary="Find similar questions and answers")
    async def ask(
        q: Question, k: Results = 10, ranker: RankerName = "best", votes: Votes = False
    ) -> AskResponse:
        """Similar questions and answers in one call."""
        (similar, answers), shared = await _asked(service, q, AskOptions("ask", k, ranker, votes))
        return AskResponse.model_construct(**shared, similar=similar, answers=answers)

    @router.post("/api/duplicates", summary="Check whether a draft was asked before")
    async def duplicates(draft: Draft) -> DuplicatesResponse:
        """Check a question while it is being typed; an empty draft has no similar questions."""
        started, question = time.perf_counter(), _cleaned(f"{draft.title}\n{draft.body}")
        options = AskOptions("similar", draft.k, "fused")  # as ``Engine.suggest``
        hits = await service.ask(question, options) if question else []
        likely = any((hit.duplicate_probability or 0.0) >= MIN_PROBABILITY for hit in hits)
        return DuplicatesResponse.model_construct(
            took_ms=_elapsed_ms(started), duplicate=likely, similar=hits
        )

    @router.get("/api/why", summary="Explain the rank of a post")
    async def why(
        q: Question,
        id: Annotated[PostId, Query(description="The id of a result.", examples=["q002"])],
    ) -> Why:
        """The score of each stage, and the words that mattered."""
        question = _required(q)
        if await service.run(service.engine.archive.post, id) is None:
            raise HTTPException(404, f"no post {id!r}")
        return await service.run(service.engine.why, question, id)

    @router.get("/api/rankers", summary="List the rankers")
    async def rankers() -> RankersResponse:
        """The values that ``ranker`` accepts; a trained model adds more."""
        return RankersResponse(rankers=service.engine.rankers())

    return router


async def _asked(service: Service, q: str, options: AskOptions) -> tuple[Any, dict[str, Any]]:
    """The hits, and the fields that all responses share."""
    started, question = time.perf_counter(), _required(q)
    hits = await service.ask(question, options)
    return hits, {"query": question, "ranker": options.ranker, "took_ms": _elapsed_ms(started)}


def _required(text: str) -> str:
    question = _cleaned(text)
    if not question:
        raise HTTPException(422, "the question is empty; type a question")
    return question


def _cleaned(text: str) -> str:
    return clean_text(text, " ").strip()


def _elapsed_ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)
