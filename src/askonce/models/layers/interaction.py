"""Products of two texts' vectors, dense layers over them, and k-max pooling."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from askonce.models.base import Side


class TensorLayer(nn.Module):
    """qᵀ M^{[1:r]} a + V [q; a] + b, before any activation (Socher et al., 2013).

    What depends on one side alone is computed by ``parts``, so that it can be kept; the vectors may
    be of whole texts (B, D) or of words (B, T, D).
    """

    def __init__(self, dim: int, slices: int) -> None:
        super().__init__()
        self.slices = slices
        self.tensor = nn.Linear(dim, slices * dim, bias=False)  # M^{[1:r]}, each slice transposed
        self.of_query = nn.Linear(dim, slices)  # the left half of V, and b
        self.of_candidate = nn.Linear(dim, slices, bias=False)  # the right half of V

    def parts(self, vectors: Tensor, side: Side) -> dict[str, Tensor]:
        """The product q M (..., r, D), or a itself, and its part (..., r) of the linear term."""
        if side == "candidate":
            return {"vectors": vectors, "linear": self.of_candidate(vectors)}
        keys = self.tensor(vectors).unflatten(-1, (self.slices, -1))
        return {"keys": keys, "linear": self.of_query(vectors)}


def circular_correlation(a: Tensor, b: Tensor) -> Tensor:
    """[a ⋆ b]_k = Σ_i a_i b_{(i+k) mod D}, by the fast Fourier transform."""
    product = torch.fft.rfft(a).conj() * torch.fft.rfft(b)  # (..., D/2 + 1)
    return torch.fft.irfft(product, n=a.shape[-1])  # (..., D)


def k_max(states: Tensor, mask: Tensor, k: Tensor) -> Tensor:
    """The k greatest values of each feature in the order of the text; k may differ by text.

    States (B, T, D) give (B, K, D), in which K is the greatest k. A text with fewer than K such
    values has zeros behind them.
    """
    limit = int(k.max())
    room = max(limit - states.shape[1], 0)
    values = states.masked_fill(~mask.unsqueeze(-1), -torch.inf)
    values = nn.functional.pad(values, (0, 0, 0, room), value=-torch.inf)  # (B, at least K, D)
    greatest, indices = values.topk(limit, dim=1)  # (B, K, D) each
    ranks = torch.arange(limit, device=k.device)
    spare = (ranks >= torch.minimum(k, mask.sum(1))[:, None]).unsqueeze(-1)  # (B, K, 1)
    order = indices.masked_fill(spare, values.shape[1]).argsort(dim=1, stable=True)  # (B, K, D)
    return greatest.masked_fill(spare, 0).gather(1, order)


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
