"""HyperQA: projected words, summed and compared in hyperbolic space (Tay, Tuan, Hui, WSDM 2018).

CosineQA and EuclidQA compare the same vectors differently. As words are only summed, the projection
of a trained model is a table, and encoding a text is a lookup and a sum.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Encoder, Matcher, Side, States, WordWeights, of_both
from askonce.models.layers.functional import cosine
from askonce.models.layers.poincare import RADIUS, candidate_key, clip_to_ball, distance, query_key
from askonce.models.layers.word_sum import BagConfig, WordSum
from askonce.models.layers.words import WordEmbedding
from askonce.text.batch import Batch, View

Score = Literal["linear", "exp", "sigmoid", "raw"]

# float32 resolves a radius to about 2e-7. Clipped slightly outside RADIUS and then treated as on
# it, all clipped texts (most are) have one radius, so rounding does not affect their order.
CLIP_RADIUS = RADIUS + 1e-6


@dataclass(frozen=True)
class BagEncoderConfig(BagConfig):
    score: Score = "linear"  # eq. 6 and the alternatives that section 3.5 names


class ScoreHead(nn.Module):
    """A distance (sign -1) or a similarity (sign +1) as a score: eq. 6 or an alternative."""

    def __init__(self, kind: Score, sign: int) -> None:
        super().__init__()
        self.kind = kind
        self.sign = sign
        self.linear = None
        if kind in ("linear", "sigmoid"):
            self.linear = nn.Linear(1, 1)
            nn.init.constant_(self.linear.weight, sign)
            nn.init.zeros_(self.linear.bias)

    def forward(self, measure: Tensor) -> Tensor:
        if self.linear is None:
            signed = self.sign * measure
            return signed.exp() if self.kind == "exp" else signed
        score = self.linear(measure.unsqueeze(-1)).squeeze(-1)  # (...,)
        return score.sigmoid() if self.kind == "sigmoid" else score

    @property
    def direction(self) -> Tensor | int:
        """1 if nearer texts score higher; -1 if training has reversed that."""
        return 1 if self.linear is None else self.linear.weight.sign().squeeze() * self.sign


class BagMatcher(Matcher):
    """A Matcher that represents a text by the sum of its projected words."""

    def __init__(self, config: BagConfig, words: EmbeddingInit) -> None:
        super().__init__()
        self.config = config
        self.words = WordEmbedding(words.vectors)  # not updated (section 4.3.3)
        self.bag = WordSum(config, self.words.dim)

    def total(self, batch: Batch) -> Tensor:
        return self.bag(batch.text, self.words.weight)  # (B, d)

    def prepare(self) -> None:
        if not self.training:
            self.bag.tabulate(self.words.weight)

    @torch.no_grad()
    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """The norm of each projected word: small for function words, large for content words."""
        return of_both("norm", self._norms(query.text), self._norms(candidate.text))

    def _norms(self, view: View) -> Tensor:
        projected = self.bag.project(self.words(view))  # (B, T, d)
        return projected.norm(dim=-1) * view.real  # (B, T)


class BagEncoder(BagMatcher, Encoder):
    """An Encoder of the family; a subclass says what it measures between two vectors."""

    sign = -1  # a distance; +1 for a similarity

    def __init__(self, config: BagEncoderConfig, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.head = ScoreHead(config.score, self.sign)

    def encode(self, batch: Batch) -> Tensor:
        return clip_to_ball(self.total(batch), CLIP_RADIUS)  # (B, d)

    def similarity(self, query: Tensor, candidate: Tensor) -> Tensor:
        return self.head(self.measure(query, candidate))  # (...,)

    @abstractmethod
    def measure(self, query: Tensor, candidate: Tensor) -> Tensor:
        """Distance or similarity of vectors (..., d)."""


@MODELS.add("hyperqa")
class HyperQA(BagEncoder):
    """Sums of projected words, compared by their distance in hyperbolic space."""

    Config = BagEncoderConfig

    def measure(self, query: Tensor, candidate: Tensor) -> Tensor:
        return distance(query, candidate, RADIUS)  # (...,)

    def query_key(self, vectors: Tensor) -> Tensor:
        """Keys (2u, -‖u‖², -1)."""
        return query_key(vectors) * self.head.direction  # (B, d+2)

    def candidate_key(self, vectors: Tensor) -> Tensor:
        """Keys (v, 1, ‖v‖²) / (1-‖v‖²), up to 5·10⁴; see ``poincare`` for half precision."""
        return candidate_key(vectors, RADIUS)  # (B, d+2)


@MODELS.add("cosineqa")
class CosineQA(BagEncoder):
    """Sums of projected words, compared by cosine."""

    Config = BagEncoderConfig
    sign = 1

    def measure(self, query: Tensor, candidate: Tensor) -> Tensor:
        return cosine(query, candidate)  # (...,)

    def query_key(self, vectors: Tensor) -> Tensor:
        return super().query_key(vectors) * self.head.direction  # (B, d)


@MODELS.add("euclidqa")
class EuclidQA(BagEncoder):
    """Sums of projected words, compared by their Euclidean distance in the same ball."""

    Config = BagEncoderConfig

    def measure(self, query: Tensor, candidate: Tensor) -> Tensor:
        return torch.linalg.vector_norm(query - candidate, dim=-1)  # (...,)

    def query_key(self, vectors: Tensor) -> Tensor:
        """Keys (2u, -1): with (v, ‖v‖²) they give ‖u‖² - ‖u-v‖²."""
        key = torch.cat([2 * vectors, -torch.ones_like(vectors[..., :1])], dim=-1)
        return key * self.head.direction  # (B, d+1)

    def candidate_key(self, vectors: Tensor) -> Tensor:
        return torch.cat([vectors, vectors.square().sum(-1, keepdim=True)], dim=-1)  # (B, d+1)


@MODELS.add("hyperqa-concat")
class HyperQAConcat(BagMatcher):
    """HyperQA whose last layer also sees both sums, as the paper runs it on SemEval.

    The layer gets the sums as they are; only their distance is taken inside the ball.
    """

    Config = BagConfig

    def __init__(self, config: BagConfig, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.last = nn.Linear(2 * config.dim + 1, 1)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)
        nn.init.constant_(self.last.weight[:, -1:], -1)  # starts as HyperQA does

    def read(self, batch: Batch, side: Side) -> States:
        return States(batch.text, per_text={"total": self.total(batch)})

    def match(self, query: States, candidate: States) -> Tensor:
        """A linear layer on [y_q; y_a; d(y_q, y_a)] (section 4.3.3)."""
        one, other = query["total"], candidate["total"]  # (B, d) each
        inside = clip_to_ball(one, CLIP_RADIUS), clip_to_ball(other, CLIP_RADIUS)
        gap = distance(*inside, RADIUS).unsqueeze(-1)  # (B, 1)
        return self.last(torch.cat([one, other, gap], dim=-1)).squeeze(-1)  # (B,)
