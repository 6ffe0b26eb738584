"""Bigram-CNN: filters over pairs of words, compared by a bilinear form (Yu et al., 2014).

With ``counts`` it is the CNN+Cnt of WikiQA's table and the CNN+LR of CTRN's. The authors fit their
logistic regression over the trained network's probability and the counts; here both are trained as
one, in which the score before the sigmoid takes the place of the probability.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States
from askonce.models.layers.convolution import WindowConvolution
from askonce.models.layers.functional import masked_mean
from askonce.models.layers.words import SharedCounts
from askonce.models.pair import FeatureLift, PairConfig, PairMatcher
from askonce.text.batch import View


@MODELS.add("bigram-cnn", "cnn-lr")
class BigramCnn(PairMatcher):
    """Mean of filters over word bigrams, compared by a learned bilinear form."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """A sentence vector as long as the authors' word vectors."""

        dim: int = 50  # d
        counts: bool = False  # CNN+Cnt: shared content words, and their idf

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        # the last word opens a window too, so that a text of one word has one
        self.convolution = WindowConvolution(self.input_dim, config.dim, 2, "same", bias=True)
        self.of_query = nn.Linear(config.dim, config.dim, bias=False)  # Mᵀ
        self.bias = nn.Parameter(torch.zeros(1))  # b
        self.counts = SharedCounts(words) if config.counts else None
        self.lift = FeatureLift(self.feature_dim)

    @property
    def feature_dim(self) -> int:
        return super().feature_dim + (SharedCounts.size if self.config.counts else 0)

    def fit_inputs(self, query: View, candidate: View) -> None:
        super().fit_inputs(query, candidate)
        if self.counts is not None:
            self.counts.fit(query, candidate)

    def features(self, query: View, candidate: View) -> Tensor:
        features = super().features(query, candidate)
        if self.counts is None:
            return features
        return torch.cat([features, self.counts(query, candidate)], dim=1)  # (B, F)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """The mean of tanh(T_L x_i + T_R x_{i+1} + b); for a query its product with M too."""
        text = masked_mean(self.convolution(vectors).tanh(), view.mask)  # (B, d)
        return States(view, per_text={"text": self.of_query(text) if side == "query" else text})

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        """qᵀ M a + b, the log-odds of the pair, and the weighted features."""
        return self.lift((query["text"] * candidate["text"]).sum(-1) + self.bias, features)  # (B,)
