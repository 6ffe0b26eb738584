"""IARNN: the question attends inside the GRU that reads the answer (Wang, Liu & Zhao, ACL 2016).

``word`` scales each word by its bearing on the question, ``context`` by that of the word and of
what was read before, ``gate`` adds the question to the GRU's gates. One GRU without biases reads
both texts in one direction, as the equations are printed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights
from askonce.models.layers.functional import gesd, masked_mean
from askonce.models.pair import FeatureLift, PairConfig, PairMatcher
from askonce.text.batch import Batch, View


class InnerAttentionGRU(nn.Module):
    """A GRU whose inputs or gates may depend on a question's vector r_q."""

    def __init__(self, input_dim: int, dim: int, attention: str) -> None:
        super().__init__()
        self.dim, self.attention = dim, attention
        self.input = nn.Linear(input_dim, 3 * dim, bias=False)  # W_xz, W_xf, W_xh
        self.gates = nn.Linear(dim, 2 * dim, bias=False)  # W_hz, W_hf
        self.recurrent = nn.Linear(dim, dim, bias=False)  # W_hh
        outputs = 2 * dim if attention == "gate" else input_dim
        self.question = nn.Linear(dim, outputs, bias=False)  # M_qi, M_qc, or M_qz and M_qf
        self.context = nn.Linear(dim, input_dim, bias=False) if attention == "context" else None

    def forward(
        self, vectors: Tensor, inputs: Tensor, question: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """States (B, T, d) and how much of each word is let in (B, T).

        ``inputs`` (B, T, 3d) are the projected word vectors (B, T, E).
        """
        h = inputs.new_zeros(len(inputs), self.dim)
        added = None if question is None else self.question(question)  # (B, E or 2d)
        states, let_in = [], []
        for x, projected in zip(vectors.unbind(1), inputs.unbind(1), strict=True):
            scale = None  # a number α scales W (α x) as it scales W x
            if added is not None and self.attention != "gate":
                sought = added if self.context is None else added + self.context(h)  # (B, E)
                scale = (sought * x).sum(-1, keepdim=True).sigmoid()  # (B, 1), α_t
                projected = scale * projected
            for_gates, for_state = projected.tensor_split([2 * self.dim], dim=1)
            gates = for_gates + self.gates(h)  # (B, 2d)
            if added is not None and self.attention == "gate":
                gates = gates + added  # M_qz r_q and M_qf r_q
            z, f = gates.sigmoid().chunk(2, dim=1)  # (B, d) each
            h = torch.lerp(h, (for_state + self.recurrent(f * h)).tanh(), z)  # (1-z) h + z h̃
            states.append(h)
            let_in.append(z.mean(1) if scale is None else scale.squeeze(1))
        return torch.stack(states, dim=1), torch.stack(let_in, dim=1)


@MODELS.add("iarnn")
class IARNN(PairMatcher):
    """The answer's GRU attends to the question at each word; GESD of both means."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        attention: Literal["word", "context", "gate"] = "gate"
        dim: int = 150  # d
        dropout: float = 0.2  # on word vectors

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.dropout = nn.Dropout(config.dropout)
        self.gru = InnerAttentionGRU(self.input_dim, config.dim, config.attention)
        self.lift = FeatureLift(self.feature_dim)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """The mean state of a query; of a candidate only its projected words."""
        vectors = self.dropout(vectors)
        inputs = self.gru.input(vectors)  # (B, T, 3d)
        if side == "candidate":
            return States(view, {"words": vectors, "inputs": inputs})
        states, _ = self.gru(vectors, inputs)
        return States(view, per_text={"text": masked_mean(states, view.mask)})  # (B, d)

    def attended(self, query: States, candidate: States) -> tuple[Tensor, Tensor]:
        """The candidate's states given the query, and how much of each word is let in."""
        states, let_in = self.gru(candidate["words"], candidate["inputs"], query["text"])
        return states, let_in  # (B, T, d), (B, T)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        states, _ = self.attended(query, candidate)
        answer = masked_mean(states, candidate.view.mask)  # (B, d)
        return self.lift(gesd(query["text"], answer), features)  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """How much of each word of the candidate is let in: α, or the mean update gate."""
        sides = self.read_both(query, candidate)
        _, let_in = self.attended(*sides)
        kind = "update gate" if self.config.attention == "gate" else "attention"
        return [WordWeights(kind, "candidate", let_in)]
