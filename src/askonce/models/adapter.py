"""Adapter: bends a teacher's space to one archive, over cached vectors.

A linear map that starts as the identity plus a small residual layer: before training an adapter is
its teacher. It reads no words, only the teacher's vector of each text, so it trains in seconds.

    f(x) = W x + B ReLU(A x + a),   W = I and B = 0 at the start
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, SidedEncoder
from askonce.models.layers.functional import cosine
from askonce.models.layers.poincare import RADIUS, candidate_key, clip_to_ball, distance, query_key
from askonce.text.batch import Batch


class Bend(nn.Module):
    def __init__(self, dim: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, dim, bias=False)  # W
        self.inner = nn.Linear(dim, hidden)  # A, a
        self.outer = nn.Linear(hidden, dim, bias=False)  # B
        self.dropout = nn.Dropout(dropout)
        nn.init.eye_(self.linear.weight)
        nn.init.zeros_(self.outer.weight)

    def forward(self, vectors: Tensor) -> Tensor:
        return self.linear(vectors) + self.outer(self.dropout(self.inner(vectors).relu()))

    @torch.no_grad()
    def follow(self, other: nn.Linear) -> None:
        """Become this map followed by a linear one: V f(x) = V W x + V B ReLU(A x + a)."""
        for part in (self.linear, self.outer):
            part.weight.copy_(other.weight @ part.weight)


@MODELS.add("adapter")
class Adapter(SidedEncoder):
    """A teacher's vectors with a correction that is learned from labels."""

    reads = "vectors"

    @dataclass(frozen=True)
    class Config:
        dim: int = 384  # of the teacher's vectors; MiniLM has 384, mpnet 768
        hidden: int = 512  # width of the residual layer
        dropout: float = 0.3
        sides: Literal[1, 2] = 1  # 2: questions and answers have maps of their own
        # "hyperbolic": HyperQA's distance between the bent vectors, scaled into the unit ball
        space: Literal["cosine", "hyperbolic"] = "cosine"

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__()
        self.config = config
        self.bends = nn.ModuleList(
            Bend(config.dim, config.hidden, config.dropout) for _ in range(config.sides)
        )
        # of the teacher's unit vectors in the ball: far enough from its edge for gradients to live
        self.radius = nn.Parameter(torch.tensor(0.5)) if config.space == "hyperbolic" else None

    def encode_side(self, batch: Batch, side: Side) -> Tensor:
        bend = self.bends[-1 if side == "candidate" else 0]
        bent = bend(batch.vectors)  # (B, D)
        if self.radius is None:
            return nn.functional.normalize(bent, dim=-1)
        return clip_to_ball(bent * self.radius, RADIUS)  # lengths tell how far out texts lie

    def similarity(self, query: Tensor, candidate: Tensor) -> Tensor:
        if self.radius is None:
            return cosine(query, candidate)  # (...,)
        return -distance(query, candidate, RADIUS)

    def query_key(self, vectors: Tensor) -> Tensor:
        return super().query_key(vectors) if self.radius is None else query_key(vectors)

    def candidate_key(self, vectors: Tensor) -> Tensor:
        if self.radius is None:
            return super().candidate_key(vectors)
        return candidate_key(vectors, RADIUS)
