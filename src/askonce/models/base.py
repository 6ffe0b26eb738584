"""What a model is: two batches in, one score per row out, higher is better.

A Matcher reads each text (``read``), then compares what it read (``match``). What ``read`` gives
does not depend on the partner, so it can be kept: ranking n answers for a question reads each of
them once. An Encoder is a Matcher whose reading is one vector per text, so it can be indexed.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from askonce.text.batch import Batch, View
from askonce.text.stopwords import STOPWORDS
from askonce.text.vocabulary import Vocabulary

Side = Literal["query", "candidate"]
ViewName = Literal["text", "title", "body"]


@dataclass(frozen=True, eq=False)
class EmbeddingInit:
    """What a model is told of its words, one row each; row 0 is padding, row 1 the unknown word."""

    vectors: Tensor  # (V, E)
    document_frequency: Tensor  # (V,)
    documents: int
    stop: Tensor  # (V,) bool: function words

    @classmethod
    def of(cls, vocabulary: Vocabulary, vectors: np.ndarray) -> "EmbeddingInit":
        """The words of a vocabulary with one vector each."""
        return cls(
            vectors=torch.as_tensor(vectors, dtype=torch.float32),
            document_frequency=torch.as_tensor(vocabulary.document_frequency),
            documents=vocabulary.documents,
            stop=torch.tensor([word in STOPWORDS for word in vocabulary.words]),
        )


@dataclass(frozen=True, eq=False)
class States:
    """What a model read of B texts, each alone: tensors of B rows, and the words.

    A part with three dimensions is (B, T, D) with the time of the view; any other is (B, ...).
    """

    view: View
    parts: tuple[Tensor, ...]

    def select(self, rows: Tensor) -> "States":
        """These rows in this order; a row may come several times."""
        return States(
            View(self.view.codes[rows], self.view.lengths[rows]),
            tuple(part[rows] for part in self.parts),
        )

    def row(self, index: int) -> "States":
        """One text alone, without padding, in memory of its own."""
        length = int(self.view.lengths[index])
        codes = self.view.codes[index : index + 1, :length].clone()
        kept = (p[index : index + 1] for p in self.parts)
        parts = tuple((p[:, :length] if p.dim() == 3 else p).clone() for p in kept)
        return States(View(codes, self.view.lengths[index : index + 1].clone()), parts)

    @staticmethod
    def join(rows: "Sequence[States]") -> "States":
        """Several texts as one batch, padded to the longest."""
        lengths = torch.cat([row.view.lengths for row in rows])  # (B,)
        codes = _pad([row.view.codes for row in rows])  # (B, T)
        parts = zip(*(row.parts for row in rows), strict=True)
        joined = (_pad(part) if part[0].dim() == 3 else torch.cat(part) for part in parts)
        return States(View(codes, lengths), tuple(joined))


def _pad(rows: Sequence[Tensor]) -> Tensor:
    """Rows (1, T_i, ...) as one tensor (B, T, ...) with zeros behind each."""
    return nn.utils.rnn.pad_sequence([row[0] for row in rows], batch_first=True)


@dataclass(frozen=True, eq=False)
class WordWeights:
    """How much each word of one side counts for a model, and in which sense."""

    kind: str  # such as "attention" or "forget gate"
    side: Side
    view: ViewName
    values: Tensor  # (B, T)


class Matcher(nn.Module, ABC):
    """Scores pairs of texts. A subclass says what to read of a text and how to match two."""

    Config: ClassVar[type[Any]]
    config: Any

    def forward(self, query: Batch, candidate: Batch) -> Tensor:
        """One score per row."""
        return self.match(self.read(query, "query"), self.read(candidate, "candidate"))  # (B,)

    @abstractmethod
    def read(self, batch: Batch, side: Side) -> States:
        """What the model takes from each text, before it sees the partner."""

    @abstractmethod
    def match(self, query: States, candidate: States) -> Tensor:
        """One score per row from what was read of both sides."""

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """The words that the model weighs, where it weighs any."""
        return ()

    def fit_inputs(self, query: View, candidate: View) -> None:
        """Scale what is not learnt by a sample of training pairs, once before training."""

    def prepare(self) -> None:
        """Move what no longer changes into tables, once training is over; ``train()`` undoes it."""

    def trainable_parameters(self) -> int:
        """Number of trainable values without word embeddings, as the papers count."""
        return sum(
            p.numel()
            for name, p in self.named_parameters()
            if p.requires_grad and not name.startswith("words.")
        )


class Encoder(Matcher):
    """A Matcher that reads each text into one vector; ``similarity`` compares two vectors."""

    @abstractmethod
    def encode(self, batch: Batch) -> Tensor:
        """One vector per text."""  # (B, D)

    @abstractmethod
    def similarity(self, query: Tensor, candidate: Tensor) -> Tensor:
        """Score of vectors (..., D) and (..., D), broadcast over the leading dimensions."""

    def read(self, batch: Batch, side: Side) -> States:
        """The vectors are all that an encoder keeps of a text."""
        vectors = self.encode(batch)  # (B, D)
        ones = torch.ones(len(batch), dtype=torch.long, device=vectors.device)
        return States(View(ones[:, None], ones), (vectors,))

    def match(self, query: States, candidate: States) -> Tensor:
        """Similarity of the two vectors."""
        return self.similarity(query.parts[0], candidate.parts[0])  # (B,)

    def query_key(self, vectors: Tensor) -> Tensor:
        """Keys whose inner product with candidate keys orders as ``similarity`` does."""
        return nn.functional.normalize(vectors, dim=-1)  # (B, K); right for cosine models

    def candidate_key(self, vectors: Tensor) -> Tensor:
        """Keys to put in an inner-product index."""
        return nn.functional.normalize(vectors, dim=-1)  # (B, K)
