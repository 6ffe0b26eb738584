"""NTN-LSTM and HD-LSTM: two LSTMs whose last states meet in one layer (Tay et al., SIGIR 2017)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States
from askonce.models.layers.functional import last_state
from askonce.models.layers.interaction import circular_correlation
from askonce.models.layers.recurrent import single_bias
from askonce.models.pair import PairConfig, PairMatcher
from askonce.models.rivals.sentences.cntn import TensorMatcher
from askonce.text.batch import View


class DualLstm(nn.Module):
    """One LSTM for questions and one for answers, of which the last state is the text's vector."""

    def __init__(self, input_dim: int, dim: int, dropout: float) -> None:
        super().__init__()
        self.of_query = single_bias(nn.LSTM(input_dim, dim, batch_first=True))
        self.of_candidate = single_bias(nn.LSTM(input_dim, dim, batch_first=True))
        self.dropout = nn.Dropout(dropout)

    def forward(self, view: View, vectors: Tensor, side: Side) -> Tensor:
        """Last states (B, d); padding follows the text, so no state has seen it."""
        lstm = self.of_query if side == "query" else self.of_candidate
        return self.dropout(last_state(lstm(vectors)[0], view.lengths))  # (B, d)


@MODELS.add("ntn-lstm")
class NtnLstm(TensorMatcher):
    """Last states of two LSTMs, compared by a neural tensor layer."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """Settings; the number of slices is our choice."""

        dim: int = 640  # d
        slices: int = 5  # r
        dropout: float = 0.5  # on the texts' vectors

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words, config.dim, config.slices)
        self.lstm = DualLstm(self.input_dim, config.dim, config.dropout)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        return States(view, per_text=self.tensor.parts(self.lstm(view, vectors, side), side))


@MODELS.add("hd-lstm")
class HdLstm(PairMatcher):
    """Last states of two LSTMs, composed by circular correlation, then a dense layer."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """Settings; the size of the dense layer is our choice."""

        dim: int = 640  # d
        hidden: int = 64  # of the dense layer
        dropout: float = 0.5  # on the texts' vectors

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.lstm = DualLstm(self.input_dim, config.dim, config.dropout)
        self.similarity = nn.Linear(config.dim, config.dim, bias=False)  # Mᵀ
        self.hidden = nn.Linear(config.dim + 1 + self.feature_dim, config.hidden)
        self.output = nn.Linear(config.hidden, 2)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        text = self.lstm(view, vectors, side)  # (B, d)
        key = {"key": self.similarity(text)} if side == "query" else {}  # (B, d)
        return States(view, per_text={"text": text, **key})

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        """Log-odds from [q ⋆ a; qᵀ M a; features]."""
        composed = circular_correlation(query["text"], candidate["text"])  # (B, d)
        similarity = (query["key"] * candidate["text"]).sum(-1, keepdim=True)  # (B, 1)
        joined = torch.cat([composed, similarity, features], dim=1)  # (B, d+1+F)
        wrong, right = self.output(self.hidden(joined).tanh()).unbind(1)
        return right - wrong  # (B,)
