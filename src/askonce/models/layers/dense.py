"""Dense layers over the vectors of two texts."""

from itertools import pairwise

import torch
from torch import Tensor, nn


def dense_layers(sizes: list[int], dropout: float) -> nn.Sequential:
    """ReLU layers with dropout before each, then one linear output without activation."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(sizes):
        layers += [nn.Dropout(dropout), nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class LogOdds(nn.Module):
    """Dense layers over two texts' vectors and their overlap; the two-class softmax as log-odds."""

    def __init__(self, sizes: list[int], dropout: float) -> None:
        super().__init__()
        drop, *layers = dense_layers([*sizes, 2], dropout)
        self.drop, self.dense = drop, nn.Sequential(*layers)

    def forward(self, query: Tensor, candidate: Tensor, features: Tensor) -> Tensor:
        # no dropout on the four features, which would be lost among hundreds of states
        inputs = [self.drop(query), self.drop(candidate), features]
        wrong, right = self.dense(torch.cat(inputs, dim=1)).unbind(1)
        return right - wrong  # (B,)
