"""What a layer computes from each word on its own, computed once for all words after training."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from askonce.text.vocabulary import PAD

ROWS = 4_096  # words computed at a time


class WordTable(nn.Module):
    """One row per word of the vocabulary, or None; training and loaded weights discard it."""

    rows: Tensor | None  # (V, D)

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", None, persistent=False)
        self.register_load_state_dict_post_hook(_discard)  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def fill(self, words: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
        """Compute the rows (V, D) of all word vectors (V, E); padding has a vector of zeros."""
        padding = compute(words.new_zeros(1, words.shape[1]))  # (1, D)
        self.rows = words.new_empty(len(words), padding.shape[1])
        for part, rows in zip(torch.split(words, ROWS), torch.split(self.rows, ROWS), strict=True):
            rows.copy_(compute(part))
        self.rows[PAD] = padding
        return self.rows

    def train(self, mode: bool = True) -> "WordTable":
        if mode:
            self.rows = None
        return super().train(mode)


def _discard(module: WordTable, _: object) -> None:
    module.rows = None
