"""A directional language model, which pre-trains the readers of CABIN and ELMo.

CABIN's eq. 11 predicts a word from states that have read it, in both directions, so a model
could merely copy. Here each direction predicts the word that it reads next, and the directions
share no layer: neither has seen what it predicts.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.errors import ConfigError
from askonce.models.base import EmbeddingInit, Side
from askonce.models.layers.words import WordEmbedding
from askonce.models.pair import PairConfig, PairMatcher
from askonce.text.batch import View
from askonce.text.vocabulary import PAD


class DirectionalLSTM(nn.Module):
    """Two stacks of LSTM layers over the same words, one rightward and one leftward.

    Padding follows the words in both directions, so it affects no state. (Packed sequences give the
    same states; training with them took 2.5 times as long at 40 words and 8 times at 200.)
    ``nn.LSTM`` has two biases per gate where the papers count one.
    """

    def __init__(self, inputs: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.sizes = (inputs, hidden, layers)
        self.rightward = nn.LSTM(inputs, hidden, layers, batch_first=True)
        self.leftward = nn.LSTM(inputs, hidden, layers, batch_first=True)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """States [→ ; ←] at each word of the last layer, zero on padding."""
        mirror, real = self._mirror(vectors, lengths)
        right, _ = self.rightward(vectors)  # (B, T, H)
        left, _ = self.leftward(vectors.gather(1, mirror.expand_as(vectors)))  # (B, T, H)
        left = left.gather(1, mirror.expand_as(left))  # (B, T, H), in the order of the text
        return torch.cat([right, left], dim=-1) * real  # (B, T, 2H)

    def layer_states(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """The same of every layer (B, T, L, 2H), the lowest first."""
        mirror, real = self._mirror(vectors, lengths)
        right, left = vectors, vectors.gather(1, mirror.expand_as(vectors))  # (B, T, E) each
        states = []
        for layer in range(self.sizes[2]):
            right = _layer(self.rightward, layer, right)  # (B, T, H)
            left = _layer(self.leftward, layer, left)  # (B, T, H)
            in_order = left.gather(1, mirror.expand_as(left))  # (B, T, H)
            states.append(torch.cat([right, in_order], dim=-1) * real)
        return torch.stack(states, dim=2)

    def _mirror(self, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The position of each word in the reversed text, and which are words (B, T, 1)."""
        steps = torch.arange(vectors.shape[1], device=vectors.device)
        mirror = (lengths[:, None] - 1 - steps).unsqueeze(-1)  # (B, T, 1), negative on padding
        return mirror.clamp_min(0), mirror >= 0


def _layer(lstm: nn.LSTM, layer: int, vectors: Tensor) -> Tensor:
    """One layer of a stack: states (B, T, H) of its inputs."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    weights: list[Tensor] = [lstm.get_parameter(f"{name}_l{layer}") for name in names]
    start = [vectors.new_zeros(1, len(vectors), lstm.hidden_size)] * 2
    # biases, one layer, no dropout between layers, one direction, batch first
    return torch.lstm(vectors, start, weights, True, 1, 0.0, lstm.training, False, True)[0]


class LanguageLosses(NamedTuple):
    """Sums of -ln p over ``words`` predicted words, rightward and leftward."""

    forward: Tensor
    backward: Tensor
    words: int


class LanguageModel(nn.Module):
    """Predicts the next word rightward and the previous word leftward.

    The padding row stands for the end of a text in both directions. Word vectors are fixed, so that
    the weights fit a model that reads the same vectors.
    Questions and answers share one vocabulary; the paper has one for each.
    """

    def __init__(self, words: EmbeddingInit, hidden: int = 100, layers: int = 2) -> None:
        super().__init__()
        size = len(words.vectors)
        self.words = WordEmbedding(words.vectors)
        self.recurrence = DirectionalLSTM(self.words.dim, hidden, layers)
        self.next_word = frequency_softmax(hidden, size)
        self.previous_word = frequency_softmax(hidden, size)
        normal_weights(self)

    def losses(self, view: View) -> LanguageLosses:
        """Losses of both directions on these texts; empty texts are ignored."""
        real, ids = view.real, view.ids  # (B, T)
        states = self.recurrence(self.words(view), view.lengths)[real]  # (N, 2H)
        right, left = states.chunk(2, dim=-1)  # (N, H) each
        after = F.pad(ids[:, 1:], (0, 1), value=PAD)[real]  # (N,)
        before = F.pad(ids[:, :-1], (1, 0), value=PAD)[real]  # (N,)
        forward = -self.next_word(right, after).output.sum()
        backward = -self.previous_word(left, before).output.sum()
        return LanguageLosses(forward, backward, len(states))


@dataclass(frozen=True)
class ReaderConfig(PairConfig):
    """Settings of a model that reads with pre-trained language models; sections are CABIN's."""

    hidden: int = 100  # section 5.3, read as the size of one direction
    layers: int = 2  # section 5.3
    freeze_lm: bool = True  # section 4.4: the states of the language models are a fixed input


class LanguageModelReader(PairMatcher):
    """A pair model that reads each side with a directional LSTM of its own."""

    config: ReaderConfig

    @abstractmethod
    def recurrence(self, side: Side) -> DirectionalLSTM:
        """The LSTM that reads the texts of one side."""

    def load_language_models(self, query: LanguageModel, candidate: LanguageModel) -> None:
        """Start from these language models; they must use this model's word vectors."""
        if self.config.flags:
            raise ConfigError(
                "match flags add a number to every word vector that language models do not read; "
                "set flags = false to use pre-trained ones"
            )
        sides: Sequence[tuple[Side, LanguageModel]] = (("query", query), ("candidate", candidate))
        for side, model in sides:
            recurrence = self.recurrence(side)
            if recurrence.sizes != model.recurrence.sizes:
                raise ConfigError(
                    f"the {side} language model has (inputs, hidden, layers) "
                    f"{model.recurrence.sizes}, but {type(self).__name__.lower()} has "
                    f"{recurrence.sizes}; give both the same settings and word vectors"
                )
            recurrence.load_state_dict(model.recurrence.state_dict())


def frequency_softmax(inputs: int, size: int) -> nn.AdaptiveLogSoftmaxWithLoss:
    """Adaptive softmax: words in groups by frequency, which is the order of a vocabulary.

    The full softmax of eq. 11 takes 8 times as long with 34,500 words. The groups give a proper
    distribution too, with fewer weights for rare words.
    """
    cutoffs = sorted({max(1, size // 16), max(1, size // 4)})
    return nn.AdaptiveLogSoftmaxWithLoss(inputs, size, cutoffs, div_value=2, head_bias=True)


def perplexity(loss: float, words: int) -> float:
    """The exponential of the mean loss per word."""
    return math.exp(loss / max(words, 1))


def normal_weights(module: nn.Module) -> None:
    """Draw every weight but the word vectors from N(0, .1), section 5.3; .1 is read as the std."""
    for name, value in module.named_parameters():
        if not name.startswith("words."):
            nn.init.normal_(value, std=0.1)
