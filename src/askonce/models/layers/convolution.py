"""Filters over windows of neighbouring words, and their maxima over a text."""

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models.layers.functional import masked_max


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
