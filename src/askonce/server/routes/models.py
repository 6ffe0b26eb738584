"""Embeddings and re-ranking in the formats of other services; the archive and models in service."""

import base64

import numpy as np
from fastapi import APIRouter

from askonce.engine import Engine
from askonce.server.schemas.models import (
    Embedding,
    EmbeddingsResponse,
    Models,
    Overview,
    Reranked,
    RerankedDocument,
    RerankResponse,
    Usage,
)
from askonce.server.schemas.requests import EmbeddingsRequest, RerankRequest
from askonce.server.service import Service
from askonce.text.sanitise import clean_text


def model_routes(service: Service) -> APIRouter:
    router = APIRouter(route_class=service.route("read", service.bulk), tags=["models"])

    @router.post("/v1/embeddings", summary="Embed texts")
    async def embeddings(body: EmbeddingsRequest) -> EmbeddingsResponse:
        """One vector per text from the encoder in service, in OpenAI's format."""
        return await service.run(_embed, service.engine, body)

    @router.post("/rerank", response_model_exclude_none=True, summary="Re-rank documents")
    async def rerank(body: RerankRequest) -> RerankResponse:
        """Documents ordered by relevance to the query; compare scores only within one call."""
        return await service.run(_rerank, service.engine, body)

    @router.get("/api/overview", summary="Describe the archive")
    async def overview() -> Overview:
        """Size and growth, unanswered questions with a likely answer, likely duplicates."""
        return Overview(**await service.run(service.engine.overview))

    @router.get("/api/models", summary="Describe the models")
    async def models() -> Models:
        """The models in service, their dev figures, and the progress of a running training."""
        return Models(**await service.run(service.engine.models))

    return router


def _embed(engine: Engine, body: EmbeddingsRequest) -> EmbeddingsResponse:
    vectors = engine.embed(body.texts)
    words = sum(len(text.split()) for text in body.texts)
    return EmbeddingsResponse(
        data=[
            Embedding(index=index, embedding=_encoded(vector, body.encoding_format))
            for index, vector in enumerate(vectors)
        ],
        model=engine.status().model or "",
        usage=Usage(prompt_tokens=words, total_tokens=words),
    )


def _encoded(vector: np.ndarray, encoding_format: str) -> list[float] | str:
    if encoding_format == "float":
        return [float(value) for value in vector]
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")


def _rerank(engine: Engine, body: RerankRequest) -> RerankResponse:
    texts = body.texts
    scores = engine.rerank(clean_text(body.query, " "), texts)
    order = sorted(range(len(texts)), key=lambda index: (-scores[index], index))
    return RerankResponse(
        results=[
            Reranked(
                index=index,
                relevance_score=scores[index],
                document=RerankedDocument(text=texts[index]) if body.return_documents else None,
            )
            for index in order[: body.top_n]
        ]
    )
