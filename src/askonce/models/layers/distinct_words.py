"""The words of many texts, each distinct word once, and windows over the texts in one long row."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import torch
from torch import Tensor

from askonce.models.layers.convolution import WindowConvolution
from askonce.text.batch import TokenIds
from askonce.text.vocabulary import PAD

_EMPTY = np.array([PAD], dtype=np.int64)  # an empty text is one zero word, as in a ``View``


def codes_of(text: TokenIds) -> np.ndarray:
    """The words of a text; at least one."""
    return text.text if text.length else _EMPTY


def _distinct(every: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct codes (U,), sorted, and the row of each code (N,) among them.

    Rows of the vocabulary are looked up in a table, which takes half the time of sorting; the few
    unknown words, whose codes are negative, are sorted.
    """
    known = every >= 0
    unknown, rows_of_unknown = np.unique(every[~known], return_inverse=True)
    table = np.zeros(int(every.max(initial=0)) + 1, dtype=np.int64)
    table[every[known]] = 1
    codes = np.flatnonzero(table)
    table[codes] = np.arange(len(unknown), len(unknown) + len(codes))
    rows = table[np.where(known, every, 0)]
    rows[~known] = rows_of_unknown
    return np.concatenate([unknown, codes]), rows


@dataclass(frozen=True, eq=False)
class DistinctWords:
    """C texts with N words, U of them distinct."""

    codes: np.ndarray  # (U,), sorted
    rows: np.ndarray  # (N,), of each word in ``codes``
    lengths: np.ndarray  # (C,)
    device: torch.device | str = "cpu"

    @classmethod
    def of(cls, texts: Sequence[TokenIds], device: torch.device | str) -> "DistinctWords":
        parts = [
            part
            for text in texts
            for part in ((text.title, text.body) if text.length else (_EMPTY,))
        ]
        lengths = np.fromiter((text.length or 1 for text in texts), np.int64, len(texts))
        return cls(*_distinct(np.concatenate(parts)), lengths, device)

    @cached_property
    def texts(self) -> np.ndarray:
        """The text of each word (N,)."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def rows_at(self, offset: int) -> np.ndarray:
        """The row (N,) of the word at an offset from each word; U outside of its text."""
        if offset == 0:
            return self.rows
        rows = np.full_like(self.rows, len(self.codes))
        here = slice(0, -offset) if offset > 0 else slice(-offset, None)
        there = slice(offset, None) if offset > 0 else slice(0, offset)
        same = self.texts[here] == self.texts[there]
        rows[here] = np.where(same, self.rows[there], len(self.codes))
        return rows

    def maximum(self, values: Tensor) -> Tensor:
        """The maximum over the words of each text: (N, D) to (C, D)."""
        texts = torch.from_numpy(self.texts).to(self.device)[:, None].expand_as(values)  # (N, D)
        maxima = values.new_empty(len(self.lengths), values.shape[1])
        return maxima.scatter_reduce_(0, texts, values, "amax", include_self=False)  # (C, D)

    def present(self) -> np.ndarray:
        """1 where a text has a word (C, U), else 0; an empty text has none.

        As float32: numpy is slow at products of bool.
        """
        present = np.zeros((len(self.lengths), len(self.codes)), dtype=np.float32)
        present[self.texts, self.rows] = 1
        present[:, self.codes == PAD] = 0
        return present


@dataclass(frozen=True, eq=False)
class Windows:
    """The weights of filters of W widths by offset in the window, P offsets in all."""

    offsets: tuple[int, ...]  # P of them
    first: np.ndarray  # (W,), of each width in ``offsets``
    weights: Tensor  # (D, P·D)
    bias: Tensor  # (W·D,)

    @classmethod
    @torch.no_grad()
    def of(cls, widths: Iterable[WindowConvolution]) -> "Windows":
        each = list(widths)
        offsets = (o for one in each for o in range(-one.margins[0], one.margins[1] + 1))
        first = np.cumsum([0, *(one.width for one in each[:-1])])
        parts = [part.mT for one in each for part in one.filters.weight.chunk(one.width, dim=1)]
        biases = [cast(Tensor, one.filters.bias) for one in each]
        return cls(tuple(offsets), first, torch.cat(parts, dim=1), torch.cat(biases))

    def rows(self, words: DistinctWords) -> Tensor:
        """The row (N, P) of each offset of each word, of (U+1)·P rows."""
        rows = np.empty((len(words.rows), len(self.offsets)), dtype=np.int64)  # (N, P)
        at = {o: words.rows_at(o) * len(self.offsets) for o in set(self.offsets)}  # (N,) each
        for column, offset in enumerate(self.offsets):
            np.add(at[offset], column, out=rows[:, column])
        return torch.from_numpy(rows).to(self.weights.device)

    def begins(self, count: int) -> Tensor:
        """Where the windows of this many words begin (N·W,) in their flattened rows."""
        starts = np.arange(count)[:, None] * len(self.offsets) + self.first  # (N, W)
        return torch.from_numpy(starts.ravel()).to(self.weights.device)
