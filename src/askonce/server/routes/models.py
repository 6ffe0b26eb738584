"""Routes in the shapes that clients of other services already call, and what serves them."""

import base64
from typing import Literal

import numpy as np
from fastapi import APIRouter

from askonce.engine import Engine
from askonce.server.guard.sanitise import clean_text
from askonce.server.schemas import Shape
from askonce.server.schemas.examples import closed
from askonce.server.schemas.requests import EmbeddingsWanted, RerankWanted
from askonce.server.schemas.state import Models, Overview
from askonce.server.service import Service


class Embedding(Shape):
    """The vector of one text; base64 holds little-endian 32-bit floats."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class Usage(Shape):
    """Words that were read."""

    prompt_tokens: int
    total_tokens: int


class Embeddings(Shape):
    """Vectors in OpenAI's shape."""

    model_config = closed(
        object="list",
        data=[{"object": "embedding", "index": 0, "embedding": [0.12, -0.05, 0.31]}],
        model="0001",
        usage={"prompt_tokens": 5, "total_tokens": 5},
    )

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: Usage


class DocumentShown(Shape):
    """A document as it was sent."""

    text: str


class Reranked(Shape):
    """One document's place in the order."""

    index: int
    relevance_score: float
    document: DocumentShown | None = None


class RerankFound(Shape):
    """Documents, the best first."""

    model_config = closed(
        results=[
            {
                "index": 0,
                "relevance_score": 2.7,
                "document": {"text": "Check the inside of the tyre for a thorn."},
            }
        ]
    )

    results: list[Reranked]


def model_routes(service: Service) -> APIRouter:
    """Vectors, re-ranking, and what is known of archive and models."""
    router = APIRouter(route_class=service.route("read", service.bulk), tags=["models"])

    @router.post("/v1/embeddings", summary="Vectors of texts")
    async def embeddings(wanted: EmbeddingsWanted) -> Embeddings:
        """One vector per text by the encoder in service, in the shape of OpenAI's interface."""
        return await service.run(_embed, service.engine, wanted)

    @router.post("/rerank", response_model_exclude_none=True, summary="Order documents")
    async def rerank(wanted: RerankWanted) -> RerankFound:
        """Documents ordered by how well they answer the query; scores compare within one call."""
        return await service.run(_rerank, service.engine, wanted)

    @router.get("/api/overview", summary="The archive at a glance")
    async def overview() -> Overview:
        """Size and growth, unanswered questions with a likely answer, duplicates found."""
        return Overview(**await service.run(service.engine.overview))

    @router.get("/api/models", summary="The models in service")
    async def models() -> Models:
        """Which models serve, what dev said of them, and the training that is going on."""
        return Models(**await service.run(service.engine.models))

    return router


def _embed(engine: Engine, wanted: EmbeddingsWanted) -> Embeddings:
    vectors = engine.embed(wanted.texts)
    coded = [_coded(vector, wanted.encoding_format) for vector in vectors]
    words = sum(len(text.split()) for text in wanted.texts)
    return Embeddings(
        data=[Embedding(index=place, embedding=vector) for place, vector in enumerate(coded)],
        model=engine.status().model or "",
        usage=Usage(prompt_tokens=words, total_tokens=words),
    )


def _coded(vector: np.ndarray, how: str) -> list[float] | str:
    if how == "float":
        return [float(value) for value in vector]
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")


def _rerank(engine: Engine, wanted: RerankWanted) -> RerankFound:
    texts = wanted.texts
    scores = engine.rerank(clean_text(wanted.query, " "), texts)
    order = sorted(range(len(texts)), key=lambda place: (-scores[place], place))
    return RerankFound(
        results=[
            Reranked(
                index=place,
                relevance_score=scores[place],
                document=DocumentShown(text=texts[place]) if wanted.return_documents else None,
            )
            for place in order[: wanted.top_n]
        ]
    )
