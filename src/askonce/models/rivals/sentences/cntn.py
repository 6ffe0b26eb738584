"""CNTN: convolutions with k-max pooling, then a neural tensor layer (Qiu & Huang, IJCAI 2015).

Texts are read as by Kalchbrenner et al. (2014): a wide convolution keeps the k greatest values of
each filter in their order, and k shrinks from layer to layer. The sizes are our choice.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States
from askonce.models.layers.convolution import WindowConvolution
from askonce.models.layers.interaction import TensorLayer, k_max
from askonce.models.pair import FeatureLift, PairConfig, PairMatcher
from askonce.text.batch import View


class TensorMatcher(PairMatcher):
    """u · tanh(qᵀ M^{[1:r]} a + V [q; a] + b) of two texts' vectors, plus weighted features."""

    def __init__(self, config: PairConfig, words: EmbeddingInit, dim: int, slices: int) -> None:
        super().__init__(config, words)
        self.tensor = TensorLayer(dim, slices)
        self.output = nn.Linear(slices, 1, bias=False)  # u
        self.lift = FeatureLift(self.feature_dim)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        product = torch.einsum("brd,bd->br", query["keys"], candidate["vectors"])  # (B, r)
        hidden = (product + query["linear"] + candidate["linear"]).tanh()  # (B, r)
        return self.lift(self.output(hidden).squeeze(-1), features)  # (B,)


@MODELS.add("cntn")
class CNTN(TensorMatcher):
    """Two layers of filters with k-max pooling, compared by a neural tensor layer."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        filters: int = 50
        width: int = 3
        layers: int = 2
        top: int = 3  # k of the last layer
        dim: int = 50  # of a text's vector
        slices: int = 5  # r
        dropout: float = 0.2  # on the text's vector

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words, config.dim, config.slices)
        inputs = [self.input_dim] + [config.filters] * (config.layers - 1)
        self.convolutions = nn.ModuleList(
            WindowConvolution(size, config.filters, config.width, "wide", bias=True)
            for size in inputs
        )
        self.text = nn.Linear(config.top * config.filters, config.dim)
        self.dropout = nn.Dropout(config.dropout)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        mask, layers = view.mask, self.config.layers
        for layer, convolution in enumerate(
            cast(Iterable[WindowConvolution], self.convolutions), start=1
        ):
            # k_l = max(k_top, ⌈(L - l) / L · words⌉)
            share = ((layers - layer) * view.lengths + layers - 1) // layers  # (B,)
            k = share.clamp_min(self.config.top)
            windows = convolution.window_mask(mask)  # (B, T + width - 1)
            vectors = k_max(convolution(vectors), windows, k).tanh()  # (B, K, C); zeros stay zero
            ranks = torch.arange(vectors.shape[1], device=k.device)
            mask = ranks < torch.minimum(k, windows.sum(1))[:, None]  # (B, K)
        text = self.text(self.dropout(vectors.flatten(1))).tanh()  # (B, D)
        return States(view, per_text=self.tensor.parts(text, side))
