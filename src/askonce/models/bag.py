"""Bag: weighted word vectors, summed; the student of a sentence encoder.

    s(x) = τ Σ_w∈title a_w v_w + Σ_w∈body a_w v_w
    f(x) = M s(x),  normalised;   M = I, τ = 1 and a = smooth idf at the start

Word vectors, word weights, the weight of titles and the map are learnt. Nothing is between the
words and the sum, so a trained model is one table: encoding a text is a lookup and a sum. With
``hidden``, M has a residual layer as an adapter has and maps the normalised sum, so that words can
act together; a text then costs two small matrix products more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.config import AtLeastZero
from askonce.models import MODELS
from askonce.models.adapter import Bend
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
        hidden: AtLeastZero = 0  # width of M's residual layer; 0: M is linear
        sides: Literal[1, 2] = 1  # 2: questions and answers have maps of their own
        dropout: float = 0.0  # of whole words, and of the residual layer, while training

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
            Bend(self.words.dim, config.hidden, config.dropout)
            if config.hidden
            else _identity(self.words.dim)
            for _ in range(config.sides if config.map else 0)
        )
        self.tables = None  # of each linear map, else of the words alone, (V, D)
        self.register_load_state_dict_post_hook(_discard_tables)  # type: ignore[no-untyped-call]

    def encode_side(self, batch: Batch, side: Side) -> Tensor:
        row = -1 if side == "candidate" else 0
        view, fields = batch.text, self._fields(batch)
        if self.tables is not None:
            total = _sum(view.ids, self.tables[row], fields)  # (B, D)
            return F.normalize(total, dim=-1) if self._linear else self._bent(total, row)
        known = (view.ids > UNK).to(self.weights.dtype)  # (B, T), 0 for padding too
        weights = self.weights[view.ids] * F.dropout(known, self.config.dropout, self.training)
        weights = weights if fields is None else weights * fields
        return self._bent(_sum(view.ids, self.words.weight, weights), row)  # (B, D)

    @property
    def _linear(self) -> bool:
        return not (self.maps and self.config.hidden)

    def _bent(self, total: Tensor, row: int) -> Tensor:
        """The map of one side; a residual layer reads unit vectors, as those of a teacher are."""
        if not self._linear:
            total = F.normalize(total, dim=-1)
        return F.normalize(self.maps[row](total) if self.maps else total, dim=-1)  # (B, D)

    def similarity(self, query: Tensor, candidate: Tensor) -> Tensor:
        return cosine(query, candidate)  # (...,)

    @torch.no_grad()
    def prepare(self) -> None:
        if self.training:
            return
        table = self.words.weight * self.weights[:, None]  # (V, D)
        table[: UNK + 1] = 0  # padding and unknown words
        linear = self.maps if self._linear else ()
        self.tables = [one(table) for one in linear] or [table]

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


def _identity(dim: int) -> nn.Linear:
    linear = nn.Linear(dim, dim, bias=False)
    nn.init.eye_(linear.weight)
    return linear


def _sum(ids: Tensor, table: Tensor, weights: Tensor | None) -> Tensor:
    """Rows of the table summed over each text, each times its weight (B, T)."""
    return F.embedding_bag(ids, table, mode="sum", per_sample_weights=weights)  # (B, D)


def _discard_tables(module: Bag, _: object) -> None:
    module.tables = None
