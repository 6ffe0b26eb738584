"""BoW+MLP and WordEmbed+MLP: word vectors without order, then dense layers (CABIN's table 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights, of_both
from askonce.models.layers.functional import masked_mean, safe_norm
from askonce.models.layers.interaction import LogOdds
from askonce.models.layers.words import inverse_frequency
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import Batch, View


@dataclass(frozen=True)
class BagMlpConfig(PairConfig):
    """Settings of both models; the paper prints none."""

    hidden: int = 100  # S of CABIN's own last layer
    dropout: float = 0.2


@MODELS.add("wordembed-mlp", "wordembed")
class WordEmbedMlp(PairMatcher):
    """The mean word vector of each text, then one dense layer over both."""

    Config = BagMlpConfig

    def __init__(self, config: BagMlpConfig, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        sizes = [2 * self.input_dim + self.feature_dim, config.hidden]
        self.odds = LogOdds(sizes, config.dropout)

    def bag(self, view: View, vectors: Tensor) -> Tensor:
        return masked_mean(vectors, view.mask)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        return States(view, per_text={"bag": self.bag(view, vectors)})  # (B, E)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        return self.odds(query["bag"], candidate["bag"], features)  # (B,)


@MODELS.add("bow-mlp", "bow")
class BowMlp(WordEmbedMlp):
    """The idf-weighted sum of the word vectors of each text, then one dense layer over both.

    The sum is scaled to length one: it grows with the text, and the cosine for which it was made
    does not see that.
    """

    idf: Tensor

    def __init__(self, config: BagMlpConfig, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.register_buffer("idf", inverse_frequency(words), persistent=False)  # (V,)

    def bag(self, view: View, vectors: Tensor) -> Tensor:
        """Σ idf(w) e(w) over the length of that sum; zero for an empty text."""
        total = torch.einsum("bte,bt->be", vectors, self.idf[view.ids])  # (B, E)
        return total / (safe_norm(total) + 1e-8).unsqueeze(-1)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        return of_both("idf", self.idf[query.text.ids], self.idf[candidate.text.ids])
