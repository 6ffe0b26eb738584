"""Filters over windows of neighbouring words, and their maxima over a text."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models.layers.functional import masked_max

# values of the word vectors searched at a time: what fits into the cache is twice as fast
CHUNK = 10


class WindowConvolution(nn.Module):
    """Applies every filter to every window of ``width`` words; no activation.

    ``same`` has one window centred on each word, ``wide`` every window that includes a word, which
    is width - 1 more. The vectors must be zero on padding, as word vectors and LSTM states are. One
    product of all windows with all filters: faster on CPU than ``nn.Conv1d`` at 80 words.
    """

    def __init__(
        self, input_dim: int, filters: int, width: int, padding: Literal["wide", "same"], bias: bool
    ) -> None:
        super().__init__()
        self.width = width
        wide = (width - 1, width - 1)
        self.margins = wide if padding == "wide" else ((width - 1) // 2, width // 2)
        self.filters = nn.Linear(width * input_dim, filters, bias)  # first word of a window first

    def forward(self, vectors: Tensor) -> Tensor:
        """Values (B, L, C) of the filters at every window of vectors (B, T, E)."""
        framed = F.pad(vectors, (0, 0, *self.margins))  # (B, L + k - 1, E)
        windows = framed.unfold(1, self.width, 1).transpose(2, 3)  # (B, L, k, E)
        return self.filters(windows.flatten(2))  # (B, L, C)

    def window_mask(self, mask: Tensor) -> Tensor:
        """True (B, L) for the windows of the text, given its real words (B, T)."""
        return F.pad(mask, (sum(self.margins) - self.width + 1, 0), value=True)  # (B, L)

    def max_pool(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Maximum (B, C) of each filter over the windows of each text.

        A monotone activation can follow: tanh of the maximum is the maximum of tanh.
        """
        return masked_max(self(vectors), self.window_mask(mask))  # (B, C)


class PerDimensionFilters(nn.Module):
    """Filters that each read windows of one value of the word vectors, and their extreme values.

    Only the window with the extreme value has a gradient. So all windows are searched without one,
    then the chosen window is read again: training takes a third of the time of a pooled product.
    """

    def __init__(self, dim: int, filters: int, width: int, smallest: bool) -> None:
        super().__init__()
        self.width, self.smallest = width, smallest
        bound = width**-0.5
        self.weight = nn.Parameter(torch.empty(dim, width, filters).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(dim, 1, filters).uniform_(-bound, bound))

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Extreme values (B, F, D) of vectors (B, T, D) over all windows that hold a word."""
        margin = self.width - 1
        framed = F.pad(vectors, (0, 0, margin, margin)).permute(2, 0, 1)  # (D, B, L + w - 1)
        windows = framed.unfold(2, self.width, 1)  # (D, B, L, w)
        real = F.pad(mask, (margin, 0), value=True).unsqueeze(2)  # (B, L, 1)
        windows = torch.where(real, windows, windows[:, :, :1])  # padding repeats the first one
        with torch.no_grad():
            chosen = self.extremes(windows)  # (D, B, F)
        index = chosen.unsqueeze(3).expand(-1, -1, -1, self.width)
        values = (windows.gather(2, index) * self.weight.mT.unsqueeze(1)).sum(3)  # (D, B, F)
        return (values + self.bias).tanh().permute(1, 2, 0)  # tanh keeps the order

    def extremes(self, windows: Tensor) -> Tensor:
        """Which window (D, B, F) of (D, B, L, w) has the extreme value of each filter."""
        weight = -self.weight if self.smallest else self.weight  # (D, w, F)
        flat = windows.flatten(1, 2).mT  # (D, w, B · L)
        chunks = zip(torch.split(weight, CHUNK), torch.split(flat, CHUNK), strict=True)
        shape = windows.shape[1:3]  # B, L
        chosen = [
            (own.mT @ rows).view(len(own), -1, *shape).max(3).indices.mT  # (CHUNK, B, F)
            for own, rows in chunks
        ]
        return torch.cat(chosen)
