"""The sum of the projected words of each text (HyperQA, eq. 1 and 2)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models.layers.words import WordTable
from askonce.text.batch import View
from askonce.text.vocabulary import PAD


@dataclass(frozen=True)
class BagConfig:
    dim: int = 300  # d, tuned in 100 to 400 (section 4.3.3); 300 gives the 90K of table 3
    dropout: float = 0.0  # before the projection and on the sum; 0.2 lost points on WikiQA


class WordSum(nn.Module):
    """Sum over each text of its projected words, Σ ReLU(W z + b) (eq. 1 and 2).

    Nearly every sum lies outside of the ball.
    Each distinct word of a batch is projected once, so dropout before the projection is the same
    for all its occurrences.
    """

    def __init__(self, config: BagConfig, word_dim: int) -> None:
        super().__init__()
        self.projection = nn.Linear(word_dim, config.dim)
        self._start_as_identity()
        self.dropout = nn.Dropout(config.dropout)
        self.table = WordTable()  # of projected words

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
        if self.table.rows is None:
            total = self._sum_distinct(view, words)
        else:  # no padding_idx, which is four times slower: the table's padding row is zero
            total = F.embedding_bag(view.ids, self.table.rows, mode="sum")
        return self.dropout(total)  # (B, d)

    def project(self, vectors: Tensor) -> Tensor:
        return self.projection(self.dropout(vectors)).relu()  # (..., d)

    def tabulate(self, words: Tensor) -> None:
        """Precompute the projection of all words (V, E)."""
        self.table.fill(words, self.project)[PAD] = 0  # an empty text sums to zero

    def _sum_distinct(self, view: View, words: Tensor) -> Tensor:
        distinct, rows = torch.unique(view.ids[view.real], return_inverse=True)  # (U,), (N,)
        counts = view.real.sum(1)  # (B,)
        projected = self.project(F.embedding(distinct, words))  # (U, d)
        return F.embedding_bag(rows, projected, counts.cumsum(0) - counts, mode="sum")  # (B, d)
