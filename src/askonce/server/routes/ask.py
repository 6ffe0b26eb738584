"""Routes that answer questions."""

import time
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query

from askonce.ranking.stages import RANKERS
from askonce.server.guard.limits import LONGEST_QUESTION, MOST_RESULTS, SOMETHING
from askonce.server.guard.sanitise import clean_text
from askonce.server.schemas.found import (
    AnswersFound,
    AskFound,
    DuplicatesFound,
    Rankers,
    SimilarFound,
    WhyFound,
)
from askonce.server.schemas.requests import Draft, PostId
from askonce.server.service import Ask, Service

LIKELY = 0.5  # probability from which a draft is called a duplicate

Question = Annotated[
    str,
    Query(
        min_length=1,
        max_length=LONGEST_QUESTION,
        description="What somebody wants to know.",
        examples=["my back wheel keeps losing air overnight"],
        json_schema_extra={"pattern": SOMETHING},
    ),
]
Results = Annotated[
    int, Query(ge=1, le=MOST_RESULTS, description="How many results.", examples=[10])
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
Votes = Annotated[
    bool,
    Query(description="Let votes and accepted marks count for answers.", examples=[False]),
]


def ask_routes(service: Service) -> APIRouter:
    """Similar questions, answers, both, and why."""
    router = APIRouter(route_class=service.route("read", service.queries), tags=["ask"])

    @router.get("/api/similar", summary="Questions already asked")
    async def similar(q: Question, k: Results = 10, ranker: RankerName = "best") -> SimilarFound:
        """The questions of the archive that match best, the best first."""
        started, question = time.perf_counter(), _need(q)
        found = await service.similar(question, Ask(k, ranker))
        return SimilarFound.model_construct(
            query=question, ranker=ranker, took_ms=_since(started), similar=found
        )

    @router.get("/api/answers", summary="Answers already given")
    async def answers(
        q: Question, k: Results = 10, ranker: RankerName = "best", votes: Votes = False
    ) -> AnswersFound:
        """The answers of the archive that match best, by their words and by their question's."""
        started, question = time.perf_counter(), _need(q)
        found = await service.answers(question, Ask(k, ranker, votes))
        return AnswersFound.model_construct(
            query=question, ranker=ranker, took_ms=_since(started), answers=found
        )

    @router.get("/api/ask", summary="Questions and answers")
    async def ask(
        q: Question, k: Results = 10, ranker: RankerName = "best", votes: Votes = False
    ) -> AskFound:
        """Both in one call: the questions already asked and the answers already given."""
        started, question = time.perf_counter(), _need(q)
        similar, answers = await service.both(question, Ask(k, ranker, votes))
        return AskFound.model_construct(
            query=question,
            ranker=ranker,
            took_ms=_since(started),
            similar=similar,
            answers=answers,
        )

    @router.post("/api/duplicates", summary="Was this draft asked before?")
    async def duplicates(draft: Draft) -> DuplicatesFound:
        """Check a question while it is being typed; before the first word nothing is like it."""
        started, question = time.perf_counter(), _said(f"{draft.title}\n{draft.body}")
        typed = Ask(draft.k, "fused")  # as ``Engine.suggest``
        found = await service.similar(question, typed) if question else []
        likely = any((hit.duplicate_probability or 0.0) >= LIKELY for hit in found)
        return DuplicatesFound.model_construct(
            took_ms=_since(started), duplicate=likely, similar=found
        )

    @router.get("/api/why", summary="Why a post stands where it stands")
    async def why(
        q: Question,
        id: Annotated[PostId, Query(description="A post of the results.", examples=["q002"])],
    ) -> WhyFound:
        """The score of each stage, and the words that mattered."""
        question = _need(q)
        if await service.run(service.engine.archive.post, id) is None:
            raise HTTPException(404, f"no post {id!r}")
        return WhyFound.of(id, await service.run(service.engine.why, question, id))

    @router.get("/api/rankers", summary="Ways of ranking")
    async def rankers() -> Rankers:
        """The names that ``ranker`` takes now; more once a model is trained."""
        return Rankers(rankers=service.engine.rankers())

    return router


def _need(text: str) -> str:
    question = _said(text)
    if not question:
        raise HTTPException(422, "the question is empty; write what you want to know")
    return question


def _said(text: str) -> str:
    return clean_text(text, " ").strip()


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)
