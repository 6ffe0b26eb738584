"""CABIN: each text is read a second time, with attention to the partner's sentence vector.

Wu, Mu, Thiyagalingam, Goulermas, Neurocomputing 2020. Where its equations contradict themselves:
eqs. 16 and 17 sum h_t, as the printed h_M would make the weights vanish; the outer product of
eq. 13 is only ever multiplied by q1, so one number per word, q1·∇h_t, stands for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights
from askonce.models.language_model import (
    DirectionalLSTM,
    LanguageModelReader,
    ReaderConfig,
    normal_weights,
)
from askonce.models.layers.functional import direction_ends, masked_mean, masked_softmax
from askonce.text.batch import Batch, View


def context_jump(hidden: Tensor) -> Tensor:
    """Each direction's state times the other's, which has read up to this word (eq. 12)."""
    right, left = hidden.chunk(2, dim=-1)  # (B, T, H) each, zero on padding
    left_after = F.pad(left[:, 1:], (0, 0, 0, 1))  # (B, T, H)
    right_before = F.pad(right[:, :-1], (0, 0, 1, 0))  # (B, T, H)
    return torch.cat([right * left_after, left * right_before], dim=-1)  # (B, T, 2H)


class InteractiveAttention(nn.Module):
    """Two weights for each word of one side: by attention and by similarity to the partner."""

    def __init__(self, dim: int, jump: bool) -> None:
        super().__init__()
        self.u, self.v, self.q1, self.q2 = (nn.Parameter(torch.zeros(dim)) for _ in range(4))
        self.g = nn.Parameter(torch.zeros(dim)) if jump else None

    def keys(self, hidden: Tensor) -> Tensor:
        """The two numbers per word that the weights need, whatever the partner."""
        salience, change = hidden @ self.u, hidden  # (B, T), (B, T, D)
        if self.g is not None:
            change = context_jump(hidden)  # (B, T, D)
            salience = salience + change @ self.g  # (B, T), eq. 9 without the partner
        return torch.stack([salience, change @ self.q1], dim=-1)  # (B, T, 2)

    def forward(self, keys: Tensor, partner: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Weights α and e (B, T) given the partner's sentence vector (B, D)."""
        salience, change = keys.unbind(-1)  # (B, T) each
        attention = torch.tanh(salience + (partner @ self.v)[:, None])  # (B, T), eqs. 9, 10
        similarity = torch.tanh(change[..., None] * partner[:, None]) @ self.q2  # (B, T), eq. 13
        return masked_softmax(attention, mask), masked_softmax(similarity, mask)  # eqs. 15, 14


class InteractiveReader(nn.Module):
    """Reads one side: alone, then given the partner."""

    def __init__(self, inputs: int, config: "Cabin.Config") -> None:
        super().__init__()
        dim = 2 * config.hidden
        self.recurrence = DirectionalLSTM(inputs, config.hidden, config.layers)
        self.attention = InteractiveAttention(dim, config.jump) if config.attention else None
        self.fuse = nn.Linear(dim, dim)  # V and b of eq. 19
        # without weights: eq. 19 has its own
        self.norm = nn.LayerNorm(dim, elementwise_affine=False) if config.normalise else None

    def read(self, view: View, vectors: Tensor) -> States:
        hidden = self._normalised(self.recurrence(vectors, view.lengths))  # (B, T, D), 0 on padding
        per_word = {"hidden": hidden}
        if self.attention is not None:
            per_word["keys"] = self.attention.keys(hidden)  # (B, T, 2)
        sentence = direction_ends(hidden, view.lengths)  # (B, D)
        return States(view, per_word, {"sentence": sentence})

    def weights(self, own: States, partner: States) -> tuple[Tensor, Tensor]:
        """α and e of each word (B, T); both uniform without attention."""
        mask = own.view.mask  # (B, T)
        if self.attention is None:
            uniform = mask.to(own["hidden"].dtype) / own.view.lengths[:, None]  # (B, T)
            return uniform, uniform
        return self.attention(own["keys"], partner["sentence"], mask)

    def forward(self, own: States, partner: States) -> Tensor:
        hidden = own["hidden"]  # (B, T, D)
        weights = torch.stack(self.weights(own, partner), dim=1)  # (B, 2, T)
        summaries = self._normalised(weights @ hidden)  # (B, 2, D), eqs. 16, 17
        fused = summaries.prod(1, keepdim=True)  # (B, 1, D), eq. 18
        inputs = self._normalised(hidden * fused)  # (B, T, D)
        aware = torch.tanh(self.fuse(inputs))  # (B, T, D), eq. 19
        return masked_mean(aware, own.view.mask)  # (B, D)

    def _normalised(self, vectors: Tensor) -> Tensor:
        """Layer norm over the last dimension, if the settings ask for it."""
        return vectors if self.norm is None else self.norm(vectors)


@MODELS.add("cabin")
class Cabin(LanguageModelReader):
    """Directional language models read both texts; attention across them decides.

    Pre-train two language models, one on questions and one on answers, and pass them to
    ``load_language_models``. The paper's ablations: CABIN-J is ``jump = false``, CABIN-A is
    ``attention = false``, CABIN-P is ``freeze_lm = false`` without pre-training. Questions and
    answers share one vocabulary; the paper has one for each.

    As printed, the two sides hardly interact before training: the readers' states are small, so the
    products of eqs. 12, 13, 18 and 19 all but vanish, and eq. 20 only adds the two vectors.
    ``normalise`` and ``compare``, which are ours, mend that.
    """

    @dataclass(frozen=True)
    class Config(ReaderConfig):
        similarity: int = 100  # size of s in eq. 20, not given in the paper
        jump: bool = True  # section 4.1.2
        attention: bool = True  # eqs. 14 and 15
        dropout: float = 0.5  # section 5.3, which does not say where: here before eq. 20
        normalise: bool = False  # ours: layer norm of the states, and before eqs. 18 and 19
        compare: bool = False  # ours: also h_q ⊙ h_a and |h_q - h_a| in eq. 20

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.query_reader = InteractiveReader(self.input_dim, config)
        self.candidate_reader = InteractiveReader(self.input_dim, config)
        self.dropout = nn.Dropout(config.dropout)
        fan_in = (8 if config.compare else 4) * config.hidden + self.feature_dim
        self.similarity = nn.Linear(fan_in, config.similarity)  # U_q | U_a and b_s of eq. 20
        self.classes = nn.Linear(config.similarity, 2, bias=False)  # α_0, α_1 of eq. 21
        normal_weights(self)
        for reader in (self.query_reader, self.candidate_reader):
            reader.recurrence.requires_grad_(not config.freeze_lm)

    def reader(self, side: Side) -> InteractiveReader:
        return self.query_reader if side == "query" else self.candidate_reader

    def recurrence(self, side: Side) -> DirectionalLSTM:
        return self.reader(side).recurrence

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        return self.reader(side).read(view, vectors)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        asked = self.query_reader(query, candidate)  # (B, D)
        answered = self.candidate_reader(candidate, query)  # (B, D)
        parts = [asked, answered]
        if self.config.compare:
            parts += [asked * answered, (asked - answered).abs()]
        both = self.dropout(torch.cat(parts, dim=-1))  # (B, 2D), with compare (B, 4D)
        similarity = torch.tanh(self.similarity(torch.cat([both, features], dim=-1)))  # (B, S)
        wrong, right = self.classes(similarity).unbind(-1)  # (B,) each
        return right - wrong  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """Attention α and similarity e of the words of both sides."""
        asked, answered = self.read_both(query, candidate)
        of_query = self.query_reader.weights(asked, answered)  # (B, Tq) each
        of_candidate = self.candidate_reader.weights(answered, asked)  # (B, Ta) each
        kinds = ("attention", "similarity")
        return [
            *(WordWeights(k, "query", value) for k, value in zip(kinds, of_query, strict=True)),
            *(WordWeights(k, "candidate", v) for k, v in zip(kinds, of_candidate, strict=True)),
        ]
