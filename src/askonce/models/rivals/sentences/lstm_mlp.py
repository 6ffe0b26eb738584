"""LSTM+MLP, the recurrent rival of CTRN (its Table 2)."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States
from askonce.models.layers.functional import masked_mean
from askonce.models.layers.interaction import LogOdds
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import View


@MODELS.add("lstm-mlp")
class LstmMlp(PairMatcher):
    """One LSTM over each text alone, then dense layers over both.

    The paper does not say how states are pooled: here by their mean, as in QRNN and CTRN, so that
    the models differ by the recurrence only.
    """

    @dataclass(frozen=True)
    class Config(PairConfig):
        """Settings, with the sizes of CTRN's Table 2."""

        projection: int = 300  # m; words are projected, since their vectors are fixed
        dim: int = 512  # d
        hidden: int = 128  # h, size of the dense layers
        layers: Literal[1, 2, 3] = 1  # dense layers
        dropout: float = 0.5  # implementation details of CTRN
        bias: bool = True  # of the gates; Table 2 counts none

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.projection = nn.Sequential(
            nn.Linear(self.input_dim, config.projection, bias=False), nn.ReLU()
        )
        self.lstm = nn.LSTM(config.projection, config.dim, bias=config.bias, batch_first=True)
        sizes = [2 * config.dim + self.feature_dim] + [config.hidden] * config.layers
        self.odds = LogOdds(sizes, config.dropout)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """The mean of the hidden states; padding follows the words, so no state has seen it."""
        states, _ = self.lstm(self.projection(vectors))  # (B, T, d)
        return States(view, per_text={"mean": masked_mean(states, view.mask)})  # (B, d)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        return self.odds(query["mean"], candidate["mean"], features)  # (B,)
