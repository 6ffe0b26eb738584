"""AP-CNN and AP-BiLSTM: each text is pooled by attention to the other (dos Santos et al., 2016).

Q and A are the states of the query's and the candidate's words. G = tanh(Q U Aᵀ) is the match of
each two words; the best match of a word gives its weight in the pooled vector.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights, of_both
from askonce.models.layers.convolution import WindowConvolution
from askonce.models.layers.functional import cosine, masked_softmax
from askonce.models.layers.recurrent import BiLSTM
from askonce.models.pair import FeatureLift, PairConfig, PairMatcher
from askonce.text.batch import Batch, View


class AttentivePooling(nn.Module):
    """Weights for the words of two texts, by their best match in the other."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.of_query = nn.Linear(dim, dim, bias=False)  # Uᵀ
        nn.init.zeros_(self.of_query.weight)  # starts as mean pooling for every pair

    def pairs(self, query: States, candidate: States) -> Tensor:
        """Q U Aᵀ (B, Tq, Ta) from the query's Q U and from A; -∞ on padding."""
        pairs = torch.bmm(query["keys"], candidate["states"].mT)  # (B, Tq, Ta)
        real = query.view.mask.unsqueeze(2) & candidate.view.mask.unsqueeze(1)  # (B, Tq, Ta)
        return pairs.masked_fill(~real, -torch.inf)

    def forward(self, query: States, candidate: States) -> tuple[Tensor, Tensor]:
        pairs = self.pairs(query, candidate)  # (B, Tq, Ta)
        # tanh is monotone, so it can follow the maxima: Tq + Ta values instead of Tq · Ta
        of_query = masked_softmax(pairs.amax(2).tanh(), query.view.mask)  # (B, Tq)
        of_candidate = masked_softmax(pairs.amax(1).tanh(), candidate.view.mask)  # (B, Ta)
        return of_query, of_candidate


class AttentivePoolingMatcher(PairMatcher):
    """Cosine of two texts that are pooled by attention to each other."""

    def __init__(self, config: PairConfig, words: EmbeddingInit, dim: int) -> None:
        super().__init__(config, words)
        self.attention = AttentivePooling(dim)
        self.lift = FeatureLift(self.feature_dim)

    @abstractmethod
    def word_states(self, view: View, vectors: Tensor) -> Tensor:
        """One state (B, T, D) per word."""

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """Word states; for a query, the shorter text, Q U too."""
        states = self.word_states(view, vectors)  # (B, T, D)
        keys = {"keys": self.attention.of_query(states)} if side == "query" else {}
        return States(view, {"states": states, **keys})

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        pooled = (
            torch.einsum("btd,bt->bd", side["states"], weight)  # (B, D)
            for side, weight in zip(
                (query, candidate), self.attention(query, candidate), strict=True
            )
        )
        return self.lift(cosine(*pooled), features)  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        return of_both("attention", *self.attention(*self.read_both(query, candidate)))

    def word_pairs(self, query: Batch, candidate: Batch) -> Tensor:
        """G (B, Tq, Ta): the match of each query word with each candidate word, -1 to 1."""
        sides = self.read_both(query, candidate)
        return self.attention.pairs(*sides).tanh()  # (B, Tq, Ta)


@MODELS.add("ap-cnn")
class ApCnn(AttentivePoolingMatcher):
    """Attentive pooling of filters over word windows."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """The sizes for InsuranceQA; HyperQA's table, with 540K parameters, has 300 and 5."""

        filters: int = 400  # c
        width: int = 3  # k
        train_words: bool = True  # as for QA-LSTM, which it is compared with

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words, config.filters)
        self.convolution = WindowConvolution(
            self.input_dim, config.filters, config.width, "same", bias=True
        )

    def word_states(self, view: View, vectors: Tensor) -> Tensor:
        """No activation comes before this pooling."""
        return self.convolution(vectors)  # (B, T, c)


@MODELS.add("ap-bilstm")
class ApBiLstm(AttentivePoolingMatcher):
    """Attentive pooling of the states of a bidirectional LSTM."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """The size for InsuranceQA; HyperQA's table, with 1.80M parameters, has 300."""

        hidden: int = 141  # H per direction
        train_words: bool = True  # as for QA-LSTM, which it is compared with

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words, 2 * config.hidden)
        self.lstm = BiLSTM(self.input_dim, config.hidden)

    def word_states(self, view: View, vectors: Tensor) -> Tensor:
        return self.lstm(vectors, view.lengths)  # (B, T, 2H)
