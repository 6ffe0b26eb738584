"""ELMo: mixed layers of directional language models under a plain matcher (Peters et al., 2018).

CABIN's table 3 gives neither sizes nor matcher. Here the language models are those of CABIN, of our
own pre-training, not the published ones, so that both rows differ only by what is built on them.
The matcher aligns each word with the partner text, as Parikh et al. (2016) do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights, of_both
from askonce.models.language_model import DirectionalLSTM, LanguageModelReader, ReaderConfig
from askonce.models.layers.functional import masked_max, masked_mean, masked_softmax
from askonce.models.layers.interaction import LogOdds
from askonce.text.batch import Batch, View


class LayerMix(nn.Module):
    """γ Σ_j s_j h_j over the layers of a language model, in which s is a softmax."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))  # γ

    def forward(self, states: Tensor) -> Tensor:
        return self.scale * torch.einsum("btld,l->btd", states, self.logits.softmax(0))


@MODELS.add("elmo")
class ELMo(LanguageModelReader):
    """Words beside the mixed layers of pre-trained language models, aligned with the partner.

    Pre-train it as you do CABIN. The layer of word vectors is not in the mix, since its size
    differs: it stands beside the mix, [x; ELMo], where the authors' matchers have it too.
    """

    @dataclass(frozen=True)
    class Config(ReaderConfig):
        dim: int = 100  # of projected and of compared words
        dropout: float = 0.3  # on what the matcher reads, and before the dense layers

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        sizes, dim = (self.input_dim, config.hidden, config.layers), config.dim
        self.of_query, self.of_candidate = DirectionalLSTM(*sizes), DirectionalLSTM(*sizes)
        for side in (self.of_query, self.of_candidate):
            side.requires_grad_(not config.freeze_lm)
        self.query_mix, self.candidate_mix = LayerMix(config.layers), LayerMix(config.layers)
        self.dropout = nn.Dropout(config.dropout)
        self.project = nn.Linear(self.input_dim + 2 * config.hidden, dim)
        self.comparison = nn.Linear(4 * dim, dim)
        self.odds = LogOdds([4 * dim + self.feature_dim, dim], config.dropout)

    def recurrence(self, side: Side) -> DirectionalLSTM:
        return self.of_query if side == "query" else self.of_candidate

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """Each word with its mixed layers, projected; zero on padding."""
        layers = self.recurrence(side).layer_states(vectors, view.lengths)  # (B, T, L, 2H)
        mix = self.query_mix if side == "query" else self.candidate_mix
        inputs = torch.cat([vectors, mix(layers)], dim=-1)  # (B, T, E+2H)
        projected = self.project(self.dropout(inputs)).relu()  # (B, T, D)
        return States(view, {"words": projected * view.mask.unsqueeze(-1)})

    def alignment(self, own: States, partner: States) -> Tensor:
        """How much each word takes of each word of the partner (B, T, S)."""
        pairs = own["words"] @ partner["words"].mT  # (B, T, S)
        return masked_softmax(pairs, partner.view.mask.unsqueeze(1))

    def compared(self, own: States, partner: States) -> Tensor:
        """Mean and greatest values of the words' comparisons with their alignments (B, 2D)."""
        words, aligned = own["words"], self.alignment(own, partner) @ partner["words"]
        inputs = torch.cat([words, aligned, words - aligned, words * aligned], dim=-1)
        comparisons = self.comparison(inputs).relu()  # (B, T, D)
        mask = own.view.mask
        return torch.cat([masked_mean(comparisons, mask), masked_max(comparisons, mask)], dim=-1)

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        asked, answered = self.compared(query, candidate), self.compared(candidate, query)
        return self.odds(asked, answered, features)  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """Mean attention that each word gets from the partner's words."""
        asked, answered = self.read_both(query, candidate)
        of_query = masked_mean(self.alignment(answered, asked), answered.view.mask)  # (B, Tq)
        of_candidate = masked_mean(self.alignment(asked, answered), asked.view.mask)  # (B, Ta)
        return of_both("attention", of_query, of_candidate)
