"""Responses about the server, its archive and its models; embeddings and re-ranking."""

from typing import Any, Literal

from pydantic import BaseModel

from askonce.engine import Status
from askonce.engine.results import STATUS
from askonce.server.schemas import Shape, closed, growing


class Health(Shape):
    """The process is alive."""

    model_config = closed(status="ok")

    status: Literal["ok"] = "ok"


class Overview(BaseModel):
    """Size and growth of the archive, open questions, likely duplicates."""

    model_config = growing(
        counts={"questions": 300, "answers": 441, "duplicates": 60},
        growth=[{"month": "2021-02", "questions": 9, "answers": 14}],
        unanswered=[],
        duplicates_found=[],
    )

    counts: dict[str, int]
    growth: list[dict[str, Any]]
    unanswered: list[dict[str, Any]]
    duplicates_found: list[dict[str, Any]]


class Models(BaseModel):
    """The models in service with their dev figures, and the progress of a running training."""

    model_config = growing(
        current=None,
        status=STATUS,
        tasks={"questions": None, "answers": None},
        training=None,
        feedback=[],
    )

    current: str | None
    status: Status
    tasks: dict[str, Any]
    training: Any
    feedback: list[dict[str, Any]]  # by week, oldest first


class Embedding(Shape):
    """The vector of one text; base64 encodes little-endian 32-bit floats."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class Usage(Shape):
    """Number of words read."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsResponse(Shape):
    """Vectors, in OpenAI's format."""

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


class RerankedDocument(Shape):
    """A document as it was sent."""

    text: str


class Reranked(Shape):
    """A document's position in the request, and its score."""

    index: int
    relevance_score: float
    document: RerankedDocument | None = None


class RerankResponse(Shape):
    """Documents, best first."""

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
