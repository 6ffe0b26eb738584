"""KV-MemNN: a question reads a memory of keys and values in several hops (Miller et al., 2016).

Neither paper says how it ranks answers by pairs. Here the memory is the candidate: each slot has
the window around a word as its key and the word itself as its value, which is the paper's
window-level memory. Bags are means, so that length does not decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, States, WordWeights
from askonce.models.layers.functional import masked_mean, masked_softmax
from askonce.models.pair import FeatureLift, PairConfig, PairMatcher
from askonce.text.batch import Batch, View


def window_means(vectors: Tensor, mask: Tensor, width: int) -> Tensor:
    """Mean of the real words in the window centred on each word."""
    half = (width - 1) // 2
    framed = F.pad(vectors * mask.unsqueeze(-1), (0, 0, half, width - 1 - half))
    counts = F.pad(mask.to(vectors.dtype), (half, width - 1 - half)).unfold(1, width, 1).sum(-1)
    return framed.unfold(1, width, 1).sum(-1) / counts.clamp_min(1).unsqueeze(-1)  # (B, T, E)


@MODELS.add("kv-memnn")
class KvMemNN(PairMatcher):
    """The question, changed by what it finds in the candidate's windows, times the candidate."""

    @dataclass(frozen=True)
    class Config(PairConfig):
        """Settings; the dimension is ours."""

        dim: int = 100  # d of the embedding A
        window: int = 7  # words of a key
        hops: int = 2  # H
        dropout: float = 0.2  # on word vectors

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        dim = config.dim
        self.dropout = nn.Dropout(config.dropout)
        self.embed = nn.Linear(self.input_dim, dim, bias=False)  # A
        self.answer = nn.Linear(self.input_dim, dim, bias=False)  # B
        self.hops = nn.ModuleList(nn.Linear(dim, dim, bias=False) for _ in range(config.hops))
        for hop in self.hops:
            nn.init.eye_(hop.get_parameter("weight"))  # R_j: the first sums are taken as they are
        self.lift = FeatureLift(self.feature_dim)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """A Φ_X(x) of a query; keys, values and B Φ_Y(y) of a candidate."""
        vectors = self.dropout(vectors)
        bag = masked_mean(vectors, view.mask)  # (B, E)
        if side == "query":
            return States(view, per_text={"query": self.embed(bag)})  # (B, d)
        keys = self.embed(window_means(vectors, view.mask, self.config.window))  # (B, T, d)
        return States(
            view, {"keys": keys, "values": self.embed(vectors)}, {"answer": self.answer(bag)}
        )

    def addressed(self, query: States, candidate: States) -> tuple[Tensor, Tensor]:
        """The query after all hops (B, d), and the weights (B, T) of the last one."""
        q = query["query"]  # (B, d)
        weights = torch.zeros_like(candidate["keys"][..., 0])  # (B, T)
        for hop in self.hops:
            logits = (candidate["keys"] @ q.unsqueeze(-1)).squeeze(-1)  # (B, T), q · A Φ_K(k_i)
            weights = masked_softmax(logits, candidate.view.mask)
            output = torch.einsum(
                "btd,bt->bd", candidate["values"], weights
            )  # (B, d), Σ p_i A Φ_V(v_i)
            q = hop(q + output)  # (B, d)
        return q, weights

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        """q_{H+1} · B Φ_Y(y)."""
        q, _ = self.addressed(query, candidate)
        return self.lift((q * candidate["answer"]).sum(-1), features)  # (B,)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        sides = self.read_both(query, candidate)
        return [WordWeights("attention", "candidate", self.addressed(*sides)[1])]
