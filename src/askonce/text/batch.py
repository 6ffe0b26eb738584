"""Posts as token ids: padded rows with a mask, in the views text, title and body."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from askonce.text.vocabulary import PAD, UNK


class TokenIds(NamedTuple):
    """One post as word codes: the row of a known word, a negative hash for an unknown one."""

    title: np.ndarray
    body: np.ndarray
    vector: np.ndarray | None = None  # (D,), a teacher's, for models that read vectors
    states: np.ndarray | None = None  # (T, E), a teacher's of each word of title and body

    @property
    def text(self) -> np.ndarray:
        """Title and body as one sequence."""
        if not len(self.body):
            return self.title
        return np.concatenate((self.title, self.body)) if len(self.title) else self.body

    @property
    def length(self) -> int:
        return len(self.title) + len(self.body)


@dataclass(frozen=True, eq=False)
class View:
    """The words of B texts as one padded table.

    An empty text is one word of zeros: it starts with PAD, which the mask includes. So every row
    has at least one word, and pooling never divides by zero.
    """

    codes: Tensor  # (B, T)
    lengths: Tensor  # (B,), at least 1
    vectors: Tensor | None = None  # (B, T, E), of the words in their context; zero on padding

    @classmethod
    def of(cls, texts: Sequence[np.ndarray], states: Sequence[np.ndarray] | None = None) -> "View":
        """Pad the texts, and the vectors of their words, to the longest of them."""
        counts = np.fromiter(map(len, texts), np.int64, len(texts))  # (B,)
        lengths = np.maximum(counts, 1)
        codes = np.full((len(texts), int(lengths.max(initial=1))), PAD, dtype=np.int64)  # (B, T)
        filled = np.arange(codes.shape[1]) < counts[:, None]  # (B, T)
        if texts:
            codes[filled] = np.concatenate(texts)
        vectors = None
        if states:
            vectors = np.zeros((*codes.shape, states[0].shape[1]), dtype=np.float32)  # (B, T, E)
            vectors[filled] = np.concatenate(states)
        padded = vectors if vectors is None else torch.from_numpy(vectors)
        return cls(torch.from_numpy(codes), torch.from_numpy(lengths), padded)

    @cached_property
    def ids(self) -> Tensor:
        """Rows of the vocabulary: every unknown word is UNK."""
        return self.codes.masked_fill(self.codes < 0, UNK)  # (B, T)

    @cached_property
    def mask(self) -> Tensor:
        """True where there is a word, or the one zero word of an empty text."""
        steps = torch.arange(self.codes.shape[1], device=self.codes.device)
        return steps < self.lengths[:, None]  # (B, T)

    @cached_property
    def real(self) -> Tensor:
        """True where a word was written; differs from the mask only for empty texts."""
        return self.codes != PAD  # (B, T)

    def __len__(self) -> int:
        return len(self.lengths)

    def select(self, rows: Tensor) -> "View":
        """These rows in this order; a row may be repeated."""
        lengths = self.lengths[rows]
        return self.take(rows, int(lengths.max()) if len(lengths) else 1)

    def take(self, rows: Tensor | slice, length: int | None = None) -> "View":
        """The first words of these rows, as many as ``length`` says."""
        vectors = None if self.vectors is None else self.vectors[rows, :length]
        return View(self.codes[rows, :length], self.lengths[rows], vectors)

    def clone(self) -> "View":
        """A copy that does not keep a larger table in memory."""
        vectors = None if self.vectors is None else self.vectors.clone()
        return View(self.codes.clone(), self.lengths.clone(), vectors)

    @staticmethod
    def join(views: "Sequence[View]") -> "View":
        """Views of one text each as one, padded to the longest."""
        states = [view.vectors for view in views if view.vectors is not None]
        return View(
            join_rows([view.codes for view in views]),  # (B, T)
            torch.cat([view.lengths for view in views]),  # (B,)
            join_rows(states) if states else None,  # (B, T, E)
        )

    def to(self, device: torch.device | str) -> "View":
        vectors = None if self.vectors is None else self.vectors.to(device)
        return View(self.codes.to(device), self.lengths.to(device), vectors)


def join_rows(rows: Sequence[Tensor]) -> Tensor:
    """Rows (1, T_i, ...) as one tensor (B, T, ...) with zeros behind each."""
    return torch.nn.utils.rnn.pad_sequence([row[0] for row in rows], batch_first=True)


@dataclass(frozen=True, eq=False)
class Batch:
    """B posts as token ids; each view is padded on first use."""

    posts: Sequence[TokenIds]
    device: torch.device | str = "cpu"

    @cached_property
    def text(self) -> View:
        """Whole texts, with the states of their words if all were read with a teacher's."""
        states = [post.states for post in self.posts if post.states is not None]
        texts = [post.text for post in self.posts]
        return View.of(texts, states if len(states) == len(texts) else None).to(self.device)

    @cached_property
    def title(self) -> View:
        return View.of([post.title for post in self.posts]).to(self.device)

    @cached_property
    def body(self) -> View:
        return View.of([post.body for post in self.posts]).to(self.device)

    @cached_property
    def vectors(self) -> Tensor:
        vectors = np.stack([_need_vector(post) for post in self.posts])
        return torch.from_numpy(vectors).to(self.device)  # (B, D)

    def __len__(self) -> int:
        return len(self.posts)


def _need_vector(post: TokenIds) -> np.ndarray:
    if post.vector is None:
        raise ValueError("a model that reads a teacher's vectors needs a TeacherLexicon")
    return post.vector
