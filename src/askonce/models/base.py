"""The contract of models: two batches in, one score per row out, higher is better.

A Matcher reads each text (``read``), then compares the states of two texts (``match``). States do
not depend on the partner, so they can be cached: ranking n answers reads each of them once. An
Encoder is a Matcher whose states are one vector per text, so that it can be indexed.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from askonce.text.batch import Batch, TokenIds, View, join_rows
from askonce.text.stopwords import STOPWORDS
from askonce.text.vocabulary import Vocabulary

Side = Literal["query", "candidate"]
ViewName = Literal["text", "title", "body"]
SIDES: tuple[Side, ...] = ("query", "candidate")


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw the first weights of a model by a seed; random numbers after the block do not change.

    Weights are drawn on the CPU. ``torch.manual_seed`` would format the stack for every other kind
    of device, which takes longer than the weights of a small model.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


@dataclass(frozen=True, eq=False)
class EmbeddingInit:
    """The words of a model, one row each; row 0 is padding, row 1 the unknown word."""

    vectors: Tensor  # (V, E)
    document_frequency: Tensor  # (V,)
    documents: int
    stop: Tensor  # (V,) bool: function words

    @classmethod
    def of(cls, vocabulary: Vocabulary, vectors: np.ndarray) -> "EmbeddingInit":
        return cls(
            vectors=torch.as_tensor(vectors, dtype=torch.float32),
            document_frequency=torch.as_tensor(vocabulary.document_frequency),
            documents=vocabulary.documents,
            stop=torch.tensor([word in STOPWORDS for word in vocabulary.words]),
        )


@dataclass(frozen=True, eq=False)
class States:
    """What a model read from B texts, each on its own, as named tensors."""

    view: View
    per_word: Mapping[str, Tensor] = field(default_factory=dict)  # (B, T, ...) along the view
    per_text: Mapping[str, Tensor] = field(default_factory=dict)  # (B, ...)

    def __getitem__(self, name: str) -> Tensor:
        return self.per_word[name] if name in self.per_word else self.per_text[name]

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (*self.per_word.values(), *self.per_text.values()))

    def select(self, rows: Tensor) -> "States":
        """These rows in this order; a row may be repeated."""
        return States(
            self.view.take(rows),
            {name: part[rows] for name, part in self.per_word.items()},
            {name: part[rows] for name, part in self.per_text.items()},
        )

    def row(self, index: int) -> "States":
        """A copy of one text, without padding."""
        one, length = slice(index, index + 1), int(self.view.lengths[index])
        return States(
            self.view.take(one, length).clone(),
            {name: part[one, :length].clone() for name, part in self.per_word.items()},
            {name: part[one].clone() for name, part in self.per_text.items()},
        )

    @staticmethod
    def join(rows: "Sequence[States]") -> "States":
        """Several texts as one batch, padded to the longest."""
        first = rows[0]
        return States(
            View.join([row.view for row in rows]),
            {name: join_rows([row.per_word[name] for row in rows]) for name in first.per_word},
            {name: torch.cat([row.per_text[name] for row in rows]) for name in first.per_text},
        )


@dataclass(frozen=True, eq=False)
class WordWeights:
    """The weight of each word of one side, and what it measures."""

    kind: str  # such as "attention" or "forget gate"
    side: Side
    values: Tensor  # (B, T)
    view: ViewName = "text"


def of_both(kind: str, query: Tensor, candidate: Tensor) -> list[WordWeights]:
    return [WordWeights(kind, "query", query), WordWeights(kind, "candidate", candidate)]


class Matcher(nn.Module, ABC):
    """Scores pairs of texts. A subclass defines how to read a text and how to match two."""

    Config: ClassVar[type[Any]]
    reads: ClassVar[Literal["words", "vectors"]] = "words"  # of each text; vectors: a teacher's
    config: Any

    def forward(self, query: Batch, candidate: Batch) -> Tensor:
        return self.match(self.read(query, "query"), self.read(candidate, "candidate"))  # (B,)

    @abstractmethod
    def read(self, batch: Batch, side: Side) -> States:
        """What the model reads from each text without its partner."""

    @abstractmethod
    def match(self, query: States, candidate: States) -> Tensor:
        """One score per row from the states of both sides."""

    @property
    def scores_many(self) -> bool:
        """Whether the model has ``score_many``, a faster way than scoring pairs."""
        return False

    def score_many(self, query: TokenIds, candidates: Sequence[TokenIds]) -> Tensor:
        """Scores (C,) of one query with its candidates, equal to those of ``forward``."""
        raise NotImplementedError

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """The weights that the model gives to words, if it weights words."""
        return ()

    def fit_inputs(self, query: View, candidate: View) -> None:
        """Fit feature scaling on a sample of training pairs, once before training."""

    def prepare(self) -> None:
        """Precompute tables after training; ``train()`` discards them."""

    def trainable_parameters(self) -> int:
        """Number of trainable parameters without word embeddings, as the papers count."""
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

    def similarities(self, query: Tensor, candidate: Tensor) -> Tensor:
        """Scores (Q, N) of all queries (Q, D) with all candidates (N, D)."""
        return self.similarity(query[:, None], candidate[None])

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that it encodes differently; ("query",) if it makes no difference."""
        return ("query",)

    def encode_side(self, batch: Batch, side: Side) -> Tensor:
        """The vectors of texts as queries or as candidates; most models make no difference."""
        return self.encode(batch)  # (B, D)

    def read(self, batch: Batch, side: Side) -> States:
        vectors = self.encode_side(batch, side)  # (B, D)
        ones = torch.ones(len(batch), dtype=torch.long, device=vectors.device)
        return States(View(ones[:, None], ones), per_text={"vector": vectors})

    def match(self, query: States, candidate: States) -> Tensor:
        return self.similarity(query["vector"], candidate["vector"])  # (B,)

    def query_key(self, vectors: Tensor) -> Tensor:
        """Keys whose inner product with candidate keys gives the order of ``similarity``."""
        return nn.functional.normalize(vectors, dim=-1)  # (B, K); right for cosine models

    def candidate_key(self, vectors: Tensor) -> Tensor:
        return nn.functional.normalize(vectors, dim=-1)  # (B, K)


class SidedEncoder(Encoder):
    """An Encoder with one map for all texts, or one each for questions and answers (``sides``)."""

    @property
    def sides(self) -> tuple[Side, ...]:
        return SIDES[: self.config.sides]

    def encode(self, batch: Batch) -> Tensor:
        return self.encode_side(batch, "query")  # (B, D)

    @abstractmethod
    def encode_side(self, batch: Batch, side: Side) -> Tensor: ...
