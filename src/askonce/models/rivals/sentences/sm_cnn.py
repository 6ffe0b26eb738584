"""The CNN of Severyn & Moschitti (SIGIR 2015), with and without their word-overlap features.

CABIN's table calls it Add-CNN. Their match indicators, five values learned per word, are the match
flag of every pair model here.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States
from askonce.models.layers.convolution import WindowConvolution
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import View


@MODELS.add("sm-cnn", "add-cnn")
class SmCnn(PairMatcher):
    """Max-pooled filters of each text, their bilinear similarity, then a dense layer."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """The sizes of the paper and of the released code."""

        filters: int = 100
        width: int = 5  # of windows, which may reach over both ends of the text
        dropout: float = 0.5  # on the joined vector

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        filters = config.filters
        self.of_query, self.of_candidate = (
            WindowConvolution(self.input_dim, filters, config.width, "wide", bias=True)
            for _ in range(2)  # each side has filters of its own
        )
        self.similarity = nn.Linear(filters, filters, bias=False)  # Mᵀ
        joined = 2 * filters + 1 + self.feature_dim  # 201, or 205 with features
        self.dropout = nn.Dropout(config.dropout)
        self.hidden = nn.Linear(joined, joined)
        self.output = nn.Linear(joined, 2)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """The greatest value of each filter; for a query its product with M too."""
        filters = self.of_query if side == "query" else self.of_candidate
        text = filters.max_pool(vectors, view.mask).tanh()  # (B, C)
        key = {"key": self.similarity(text)} if side == "query" else {}  # (B, C)
        return States(view, per_text={"text": text, **key})

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        similarity = (query["key"] * candidate["text"]).sum(-1, keepdim=True)  # (B, 1)
        joined = [query["text"], similarity, candidate["text"], features]
        hidden = self.hidden(self.dropout(torch.cat(joined, dim=1))).tanh()  # (B, 2C+1+F)
        wrong, right = self.output(hidden).unbind(1)
        return right - wrong  # (B,)
