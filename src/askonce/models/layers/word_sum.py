"""The sum of the projected words of each text (HyperQA, eq. 1 and 2)."""

from dataclasses import dataclass
from math import log
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.text.batch import View
from askonce.text.vocabulary import PAD

Scale = Literal["sum", "mean", "learned"]

TABLE_ROWS = 8192  # projected at a time, to save memory


@dataclass(frozen=True)
class BagConfig:
    dim: int = 300  # d, tuned in 100 to 400 (section 4.3.3); 300 gives the 90K of table 3
    # eq. 2 sums, so nearly every text leaves the ball. Ablations: "mean" divides by the length,
    # which helps only where word norms are below one; "learned" divides by a temperature
    scale: Scale = "sum"
    dropout: float = 0.0  # before the projection and on the sum; 0.2 lost points on WikiQA


class WordSum(nn.Module):
    """Sum over each text of its projected words, Σ ReLU(W z + b) (eq. 1 and 2).

    Each distinct word of a batch is projected once, so dropout before the projection is the same
    for all its occurrences.
    """

    table: Tensor | None

    def __init__(self, config: BagConfig, word_dim: int) -> None:
        super().__init__()
        self.projection = nn.Linear(word_dim, config.dim)
        self._start_as_identity()
        self.dropout = nn.Dropout(config.dropout)
        self.scale = config.scale
        # initially a text of a hundred words of norm one just fits the ball
        self.log_temperature = (
            nn.Parameter(torch.tensor(log(100.0))) if config.scale == "learned" else None
        )
        self.register_buffer("table", None, persistent=False)
        self.register_load_state_dict_post_hook(_discard_table)  # type: ignore[no-untyped-call]

    def _start_as_identity(self) -> None:
        """Words start as the positive part of their vectors.

        Better than random weights where d is the length of a word vector, no worse where d is
        three times that (dev MAP on WikiQA).
        """
        # rows beyond the length of a word vector stay random: from zero a ReLU would never recover
        rows = self.projection.weight[: self.projection.in_features]
        nn.init.eye_(rows)
        nn.init.zeros_(self.projection.bias)

    def forward(self, view: View, words: Tensor) -> Tensor:
        """One vector per text, of word vectors (V, E); an empty text sums to zero."""
        if self.table is None:
            total = self._sum_distinct(view, words)
        else:  # no padding_idx, which is four times slower: the table's padding row is zero
            total = F.embedding_bag(view.ids, self.table, mode="sum")
        return self.dropout(self._scaled(total, view))  # (B, d)

    def project(self, vectors: Tensor) -> Tensor:
        return self.projection(self.dropout(vectors)).relu()  # (..., d)

    @torch.no_grad()
    def tabulate(self, words: Tensor) -> None:
        """Precompute the projection of all words (V, E)."""
        table = words.new_empty(len(words), self.projection.out_features)  # (V, d)
        for part, rows in zip(
            torch.split(words, TABLE_ROWS), torch.split(table, TABLE_ROWS), strict=True
        ):
            rows.copy_(self.project(part))
        table[PAD] = 0
        self.table = table

    def train(self, mode: bool = True) -> "WordSum":
        if mode:
            self.table = None
        return super().train(mode)

    def _sum_distinct(self, view: View, words: Tensor) -> Tensor:
        distinct, rows = torch.unique(view.ids[view.real], return_inverse=True)  # (U,), (N,)
        counts = view.real.sum(1)  # (B,)
        projected = self.project(F.embedding(distinct, words))  # (U, d)
        return F.embedding_bag(rows, projected, counts.cumsum(0) - counts, mode="sum")  # (B, d)

    def _scaled(self, total: Tensor, view: View) -> Tensor:
        if self.log_temperature is not None:
            return total / self.log_temperature.exp()
        return total / view.lengths[:, None] if self.scale == "mean" else total


def _discard_table(module: WordSum, _: object) -> None:
    module.table = None
