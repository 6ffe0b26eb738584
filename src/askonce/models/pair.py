"""A Matcher that reads both texts together, with optional features of the words they share."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from askonce.models.base import EmbeddingInit, Matcher, Side, States
from askonce.models.layers.words import MeanCosine, Overlap, WordEmbedding, occurs_in
from askonce.text.batch import Batch, View


@dataclass(frozen=True)
class PairConfig:
    overlap: bool = False  # add the four standardised word-overlap features to the last layer
    flags: bool = False  # add to each word vector whether the partner text has the word
    cosine: bool = False  # add the cosine of the texts' mean word vectors to the last layer
    train_words: bool = False  # update the word vectors


class PairMatcher(Matcher):
    """A Matcher with optional overlap features and match flags.

    A subclass defines the states of a text (``states``) and how to compare them (``compare``).
    With flags a text cannot be read before its partner is known, so ``read`` keeps only the words
    and ``match`` does the rest.
    """

    config: PairConfig

    def __init__(self, config: PairConfig, words: EmbeddingInit) -> None:
        super().__init__()
        self.config = config
        self.words = WordEmbedding(words.vectors, config.train_words)
        self.overlap = Overlap(words) if config.overlap else None
        self.cosine = MeanCosine() if config.cosine else None

    @property
    def input_dim(self) -> int:
        """Length of the word vectors that ``states`` gets."""
        return self.words.dim + int(self.config.flags)

    @property
    def feature_dim(self) -> int:
        """Number of features that ``compare`` gets for each pair."""
        return Overlap.size * self.config.overlap + self.config.cosine

    @abstractmethod
    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """The states of each text from its word vectors (B, T, input_dim)."""

    @abstractmethod
    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        """One score per row from both sides' states and the features (B, feature_dim)."""

    def fit_inputs(self, query: View, candidate: View) -> None:
        if self.overlap is not None:
            self.overlap.fit(query, candidate)
        if self.cosine is not None:
            self.cosine.fit(self.words(query), self.words(candidate))

    def read(self, batch: Batch, side: Side) -> States:
        return self.read_view(batch.text, side)

    def read_view(self, view: View, side: Side) -> States:
        """What the model reads from these texts; with flags their words only."""
        return States(view) if self.config.flags else self.states(view, self.words(view), side)

    def match(self, query: States, candidate: States) -> Tensor:
        query, candidate = self.complete(query, candidate)
        return self.compare(query, candidate, self.features(query.view, candidate.view))  # (B,)

    def read_both(self, query: Batch, candidate: Batch) -> tuple[States, States]:
        return self.complete(self.read(query, "query"), self.read(candidate, "candidate"))

    def complete(self, query: States, candidate: States) -> tuple[States, States]:
        """The states of both sides; with flags they can only be computed now."""
        if not self.config.flags:
            return query, candidate
        return (
            self._flagged(query.view, candidate.view, "query"),
            self._flagged(candidate.view, query.view, "candidate"),
        )

    def features(self, query: View, candidate: View) -> Tensor:
        """Overlap features and cosine of each pair, if any (B, feature_dim)."""
        parts = [torch.empty(len(query), 0, device=query.codes.device)]
        if self.overlap is not None:
            parts.append(self.overlap(query, candidate))  # (B, 4)
        if self.cosine is not None:
            parts.append(self.cosine(self.words(query), self.words(candidate)))  # (B, 1)
        return torch.cat(parts, dim=1)

    def _flagged(self, view: View, partner: View, side: Side) -> States:
        flag = occurs_in(view, partner).unsqueeze(-1).to(self.words.weight.dtype)  # (B, T, 1)
        vectors = torch.cat([self.words(view), flag], dim=-1)  # (B, T, E+1)
        return self.states(view, vectors, side)


class FeatureLift(nn.Module):
    """Adds weighted overlap features to a score that has no dense layer of its own.

    The weights start at zero: training starts from the similarity alone.
    """

    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, 1, bias=False) if features else None
        if self.linear is not None:
            nn.init.zeros_(self.linear.weight)

    def forward(self, score: Tensor, features: Tensor) -> Tensor:
        return score if self.linear is None else score + self.linear(features).squeeze(-1)  # (B,)
