"""Attentive LSTM: QA-LSTM with attention over the answer's words (Tan et al., ACL 2016).

Equation numbers are those of the paper.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights
from askonce.models.layers.functional import masked_softmax, weighted_max, weighted_mean
from askonce.models.layers.recurrent import BiLSTM
from askonce.models.pair import FeatureLift, PairConfig, PairMatcher
from askonce.models.qa_lstm import POOLINGS, SIMILARITIES, Similarity
from askonce.text.batch import Batch, View


class QueryAttention(nn.Module):
    """Attention of a query to the words of a candidate (eqs. 11 and 12)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.of_state = nn.Linear(dim, dim, bias=False)  # W_am
        self.of_query = nn.Linear(dim, dim, bias=False)  # W_qm
        self.weight = nn.Linear(dim, 1, bias=False)  # w_ms

    def forward(self, keys: Tensor, query: Tensor, mask: Tensor) -> Tensor:
        """Weights (B, T) from ``of_state`` of the candidate's states and the query's vector."""
        mixed = (keys + self.of_query(query).unsqueeze(1)).tanh_()  # (B, T, D)
        return masked_softmax(self.weight(mixed).squeeze(-1), mask)  # (B, T)


@dataclass(frozen=True)
class AttentiveConfig(PairConfig):
    similarity: Similarity = "cosine"  # section 4.3: GESD gave no gain
    pooling: Literal["max", "mean"] = "max"  # row N; rows L and M have the mean
    dropout: float = 0.3  # on the pooled vectors, section 3.1; the rate is not printed
    train_words: bool = True  # section 4.1: word vectors are parameters too


class AttentiveMatcher(PairMatcher):
    """Pools the candidate's states, weighted by attention of the query's pooled vector.

    The states of a candidate include their part of eq. 11, so that only the softmax and the pooling
    are computed for each pair.
    """

    config: AttentiveConfig

    def __init__(self, config: AttentiveConfig, words: EmbeddingInit, dim: int) -> None:
        super().__init__(config, words)
        self.attention = QueryAttention(dim)
        self.dropout = nn.Dropout(config.dropout)
        self.lift = FeatureLift(self.feature_dim)

    @abstractmethod
    def word_states(self, view: View, vectors: Tensor) -> Tensor:
        """One state (B, T, D) per word."""

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """The pooled vector of a query; the states of a candidate and their part of eq. 11."""
        states = self.word_states(view, vectors)  # (B, T, D)
        if side == "query":
            pooled = POOLINGS[self.config.pooling](states, view.mask)  # (B, D)
            return States(view, per_text={"vector": pooled})
        return States(view, {"states": states, "keys": self.attention.of_state(states)})

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        asked, answer = query["vector"], self.vector(query, candidate)  # (B, D) each
        similarity = SIMILARITIES[self.config.similarity]
        return self.lift(similarity(self.dropout(asked), self.dropout(answer)), features)  # (B,)

    def vector(self, query: States, candidate: States) -> Tensor:
        """The candidate's pooled vector, given the query."""
        weights = self.weights(query, candidate)  # (B, T)
        pool = weighted_max if self.config.pooling == "max" else weighted_mean
        return pool(candidate["states"], weights, candidate.view.mask)  # (B, D), eq. 13

    def weights(self, query: States, candidate: States) -> Tensor:
        return self.attention(candidate["keys"], query["vector"], candidate.view.mask)  # (B, T)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        sides = self.read_both(query, candidate)
        return [WordWeights("attention", "candidate", self.weights(*sides))]


@MODELS.add("attentive-lstm")
class AttentiveLstm(AttentiveMatcher):
    """QA-LSTM with attention over the answer's words, given the question."""

    @dataclass(frozen=True)
    class Config(AttentiveConfig):
        """Row N of table 3."""

        hidden: int = 141  # per direction, section 4.1

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words, 2 * config.hidden)
        self.lstm = BiLSTM(self.input_dim, config.hidden)

    def word_states(self, view: View, vectors: Tensor) -> Tensor:
        return self.lstm(vectors, view.lengths)  # (B, T, 2H)
