"""Compare-aggregate: compare word by word, then aggregate with filters (Wang & Jiang, ICLR 2017).

Each word of the candidate attends to the query's words and is multiplied with the result; filters
of several widths run over the products. CABIN's tables call the model CAM. The sizes are those of
the authors' code for WikiQA.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights
from askonce.models.layers.convolution import WindowConvolution
from askonce.models.layers.distinct_words import DistinctWords, Windows, codes_of
from askonce.models.layers.functional import masked_mean, masked_softmax, safe_norm
from askonce.models.layers.words import Overlap, WordTable
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import Batch, TokenIds, View
from askonce.text.vocabulary import UNK


@MODELS.add("compare-aggregate", "cam")
class CompareAggregate(PairMatcher):
    """Candidate words times the query words they attend to, aggregated by filters."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """The model with element-wise multiplication, the best on WikiQA."""

        dim: int = 150  # of projected words, of the filters of each width and of the last layer
        widest: int = 5  # filters read windows of 1 to this many words
        dropout: float = 0.04  # on word vectors

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        dim = config.dim
        self.dropout = nn.Dropout(config.dropout)
        self.projection = nn.Linear(self.input_dim, 2 * dim)  # gate, then value
        self.filters = nn.ModuleList(
            WindowConvolution(dim, dim, width, "same", bias=True)
            for width in range(1, config.widest + 1)
        )
        self.hidden = nn.Linear(config.widest * dim, dim)
        self.output = nn.Linear(dim + self.feature_dim, 1)
        self.table = WordTable()  # of projected words
        self.windows: Windows | None = None  # while the table has rows

    def prepare(self) -> None:
        """Project all words, which are read without their context."""
        if not (self.training or self.config.flags):
            self.table.fill(self.words.weight, self.project)
            self.windows = Windows.of(self._widths())

    def read_view(self, view: View, side: Side) -> States:
        if self.table.rows is None or view.vectors is not None:
            return super().read_view(view, side)
        projected = F.embedding(view.ids, self.table.rows)  # (B, T, D)
        return States(view, {"words": projected * view.mask.unsqueeze(-1)})

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        return States(view, {"words": self.project(vectors) * view.mask.unsqueeze(-1)})

    def project(self, vectors: Tensor) -> Tensor:
        """Gated projection of each word vector (..., E)."""
        gate, value = self.projection(self.dropout(vectors)).chunk(2, dim=-1)  # (..., D) each
        return gate.sigmoid() * value.tanh()  # (..., D), eq. 1

    def attend(self, query: States, candidate: States) -> tuple[Tensor, Tensor]:
        """Attention (B, Ta, Tq) of each candidate word to the query, and its result (B, Ta, D).

        A zero vector beside the query's words takes the attention of a word that matches none, so
        the weights of a word sum to less than one. As in the authors' code, they are plain
        products, without the matrix of eq. 2.
        """
        words, padded = candidate["words"], F.pad(query["words"], (0, 0, 1, 0))  # (B, 1+Tq, D)
        real = F.pad(query.view.mask, (1, 0), value=True).unsqueeze(1)  # (B, 1, 1+Tq)
        weights = masked_softmax(torch.bmm(words, padded.mT), real)  # (B, Ta, 1+Tq)
        return weights[..., 1:], torch.bmm(weights, padded)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        """Maximum of each filter over the comparisons, then two layers."""
        compared = candidate["words"] * self.attend(query, candidate)[1]  # (B, Ta, D)
        mask = candidate.view.mask
        maxima = [filters.max_pool(compared, mask) for filters in self._widths()]  # (B, D) each
        return self._score(torch.cat(maxima, dim=-1), features)  # (B,)

    @property
    def scores_many(self) -> bool:
        return self.table.rows is not None and self.cosine is None

    def score_many(self, query: TokenIds, candidates: Sequence[TokenIds]) -> Tensor:
        """What a word of a candidate adds depends on the query only: each is compared once."""
        words = DistinctWords.of(candidates, self.words.weight.device)
        own = F.pad(self._rows(codes_of(query)), (0, 0, 1, 0))  # (1+Tq, D)
        rows = self._rows(words.codes)  # (U, D)
        # transposed, since softmax over a short last dimension takes five times as long
        attended = (own @ rows.mT).softmax(0).mT @ own  # (U, D)
        maxima = self._maxima(rows * attended, words)  # (C, W·D)
        features = rows.new_empty(len(candidates), 0)
        if self.overlap is not None:
            features = self.overlap.scaled(self._shares(self.overlap, query, words))  # (C, 4)
        return self._score(maxima, features)  # (C,)

    def _rows(self, codes: np.ndarray) -> Tensor:
        """The projected words (n, D) of codes (n,)."""
        return F.embedding(self._ids(codes), cast(Tensor, self.table.rows))

    def _ids(self, codes: np.ndarray) -> Tensor:
        """Rows of the vocabulary (n,): every unknown word is UNK."""
        return torch.from_numpy(np.where(codes < 0, UNK, codes)).to(self.words.weight.device)

    def _shares(self, overlap: Overlap, query: TokenIds, candidates: DistinctWords) -> Tensor:
        """The overlap features (C, 4) of ``Overlap.shares``, from sets of words."""
        own = np.array(sorted({*query.text.tolist()}), dtype=np.int64)  # (Tq,)
        present = candidates.present()  # (C, U)
        columns = np.searchsorted(candidates.codes, own).clip(max=len(candidates.codes) - 1)
        shared = present[:, columns] * (candidates.codes[columns] == own)  # (C, Tq)
        ids = self._ids(own)
        idf = overlap.idf[ids].cpu().numpy()  # (Tq,)
        content = ~overlap.stop[ids].cpu().numpy()  # (Tq,)
        counted = np.stack([np.ones_like(idf), content], axis=1)  # (Tq, 2): all words, content
        partner = np.ones((len(candidates.codes), 2), dtype=np.float32)  # (U, 2)
        partner[:, 1] = ~overlap.stop[self._ids(candidates.codes)].cpu().numpy()
        sizes = np.maximum(counted.sum(0) + present @ partner, 1)  # (C, 2)
        worth = np.repeat(counted, 2, axis=1)  # (Tq, 4)
        worth[:, 1::2] *= idf[:, None]
        shares = shared @ worth / np.repeat(sizes, 2, axis=1)  # (C, 4)
        return torch.from_numpy(shares).to(overlap.idf)

    def _maxima(self, compared: Tensor, words: "DistinctWords") -> Tensor:
        """Maximum (C, W·D) of each filter over the windows of each text.

        A filter is a sum over the words of its window, at offsets such as -1, 0, 1. So each word
        (U, D) is multiplied with the weights of each offset of each filter once, P in all, and the
        windows only add up.
        """
        windows = cast(Windows, self.windows)
        compared = F.pad(compared, (0, 0, 0, 1))  # (U+1, D), the last word is outside of a text
        terms = (compared @ windows.weights).view(-1, self.config.dim)  # ((U+1)·P, D)
        rows = windows.rows(words)  # (N, P)
        begins = windows.begins(len(rows))  # (N·W,)
        sums = F.embedding_bag(rows.flatten(), terms, begins, mode="sum")
        return words.maximum(sums.view(len(rows), -1)) + windows.bias  # (C, W·D)

    def _widths(self) -> Iterable[WindowConvolution]:
        return cast(Iterable[WindowConvolution], self.filters)

    def _score(self, maxima: Tensor, features: Tensor) -> Tensor:
        hidden = self.hidden(maxima.relu()).tanh()  # (B, D)
        return self.output(torch.cat([hidden, features], dim=-1)).squeeze(-1)  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """Mean attention that each query word gets; strength of each candidate word's match."""
        sides = self.read_both(query, candidate)
        weights, attended = self.attend(*sides)
        strength = safe_norm(sides[1]["words"] * attended)  # (B, Ta)
        attention = masked_mean(weights, sides[1].view.mask)  # (B, Tq)
        return [
            WordWeights("attention", "query", attention),
            WordWeights("strength of match", "candidate", strength),
        ]

    def word_pairs(self, query: Batch, candidate: Batch) -> Tensor:
        """The attention of each candidate word to each query word, 0 to 1."""
        sides = self.read_both(query, candidate)
        return self.attend(*sides)[0].mT  # (B, Tq, Ta)
