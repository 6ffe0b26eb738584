"""Bag: weighted word vectors, summed; the student of a sentence encoder.

    f(x) = M (τ Σ_w∈title a_w v_w + Σ_w∈body a_w v_w),  normalised
    M = I, τ = 1 and a = smooth idf at the start

Word vectors, word weights, the weight of titles and the map are learnt. Nothing is between the
words and the sum, so a trained model is one table: encoding a text is a lookup and a sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, SidedEncoder, WordWeights, of_both
from askonce.models.layers.functional import cosine
from askonce.models.layers.words import WordEmbedding
from askonce.text.batch import Batch, View
from askonce.text.vocabulary import UNK


@MODELS.add("bag")
class Bag(SidedEncoder):
    """Weighted word vectors, summed and compared by cosine; unknown words contribute nothing."""

    @dataclass(frozen=True)
    class Config:
        """Settings of the bag; its vectors are as long as the word vectors."""

        map: bool = True  # M; without it the words alone are learnt
        sides: Literal[1, 2] = 1  # 2: questions and answers have maps of their own
        dropout: float = 0.0  # of whole words while training

    config: Config
    tables: list[Tensor] | None

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__()
        self.config = config
        self.words = WordEmbedding(words.vectors, trainable=True)  # v
        frequency = words.document_frequency.clamp_min(1)
        self.weights = nn.Parameter((1 + words.documents / frequency).log())  # a, (V,)
        self.title = nn.Parameter(torch.ones(()))  # τ
        self.maps = nn.ModuleList(
            nn.Linear(self.words.dim, self.words.dim, bias=False)
            for _ in range(config.sides if config.map else 0)
        )
        for linear in self.maps:
            nn.init.eye_(next(linear.parameters()))
        self.tables = None  # of each map, (V, D): all that encoding needs
        self.register_load_state_dict_post_hook(_discard_tables)  # type: ignore[no-untyped-call]

    def encode_side(self, batch: Batch, side: Side) -> Tensor:
        row = -1 if side == "candidate" else 0
        view, fields = batch.text, self._fields(batch)
        if self.tables is not None:
            return F.normalize(_sum(view.ids, self.tables[row], fields), dim=-1)
        known = (view.ids > UNK).to(self.weights.dtype)  # (B, T), 0 for padding too
        weights = self.weights[view.ids] * F.dropout(known, self.config.dropout, self.training)
        weights = weights if fields is None else weights * fields
        total = _sum(view.ids, self.words.weight, weights)  # (B, D)
        return F.normalize(self.maps[row](total) if self.maps else total, dim=-1)

    def similarity(self, query: Tensor, candidate: Tensor) -> Tensor:
        return cosine(query, candidate)  # (...,)

    @torch.no_grad()
    def prepare(self) -> None:
        if self.training:
            return
        table = self.words.weight * self.weights[:, None]  # (V, D)
        table[: UNK + 1] = 0  # padding and unknown words
        self.tables = [linear(table) for linear in self.maps] or [table]

    def train(self, mode: bool = True) -> "Bag":
        if mode:
            self.tables = None
        return super().train(mode)

    @torch.no_grad()
    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """How much each word adds to the sum: a_w ‖v_w‖."""
        return of_both("weight", self._sizes(query.text), self._sizes(candidate.text))

    def _sizes(self, view: View) -> Tensor:
        weights = self.weights[view.ids] * (view.ids > UNK)  # (B, T)
        return (weights[..., None] * self.words(view)).norm(dim=-1)

    def _fields(self, batch: Batch) -> Tensor | None:
        """τ for words of the title, 1 for others; None where no post has title and body."""
        if not any(len(post.title) and len(post.body) for post in batch.posts):
            return None
        ends = torch.tensor([len(post.title) for post in batch.posts], device=self.title.device)
        steps = torch.arange(batch.text.codes.shape[1], device=self.title.device)
        return torch.where(steps < ends[:, None], self.title, 1.0)  # (B, T)


def _sum(ids: Tensor, table: Tensor, weights: Tensor | None) -> Tensor:
    """Rows of the table summed over each text, each times its weight (B, T)."""
    return F.embedding_bag(ids, table, mode="sum", per_sample_weights=weights)  # (B, D)


def _discard_tables(module: Bag, _: object) -> None:
    module.tables = None
