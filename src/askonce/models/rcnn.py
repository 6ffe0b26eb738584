"""RCNN (Lei et al. 2016, "Semi-supervised Question Retrieval with Gated Convolutions")."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch
from annotated_types import Ge
from torch import Tensor

from askonce.config import BelowOne
from askonce.errors import ConfigError
from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Side, WordWeights
from askonce.models.layers.cells import Cell, DecayedConvolution
from askonce.models.layers.gated_convolution import FewReader, GatedConvolution
from askonce.models.question_encoders import Field, QuestionConfig, QuestionEncoder
from askonce.text.batch import Batch
from askonce.text.vocabulary import PAD, UNK

# up to which numpy reads faster than torch: eight titles of ten words, 1.8 ms instead of 4.4
FEW_WORDS = 200
EMPTY = [PAD]


@MODELS.add("rcnn")
class RCNN(QuestionEncoder):
    """Question encoder with a gated convolution, which learns how much of each word to take in."""

    @dataclass(frozen=True)
    class Config(QuestionConfig):
        order: Annotated[int, Ge(2)] = 2  # table 3, n-grams of the filters
        gate: Literal["vector", "scalar", "constant"] = (
            "vector"  # scalar: figure 4; constant: Lei 2015
        )
        decay: BelowOne = 0.5  # of the constant gate; the paper names no value

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self._few: FewReader | None = None  # training and loaded weights discard it
        self.register_load_state_dict_post_hook(_discard)  # type: ignore[no-untyped-call]

    def layer(self, input_dim: int) -> Cell:
        dim, order, gate = self.config.dim, self.config.order, self.config.gate
        if gate == "constant":
            return DecayedConvolution(input_dim, dim, order, self.config.decay)
        return GatedConvolution(input_dim, dim, order, scalar=gate == "scalar")

    def prepare(self) -> None:
        """Let numpy read questions that are being asked, where it can."""
        cell, weight = self.layers[0], self.words.weight
        plain = self.config.depth == 1 and self.config.pooling == "last"
        served = not self.training and weight.is_cpu and weight.dtype == torch.float32
        if plain and served and isinstance(cell, GatedConvolution):
            self._few = FewReader(cell, weight, self.word_weight)

    def train(self, mode: bool = True) -> "RCNN":
        if mode:
            self._few = None
        return super().train(mode)

    def encode(self, batch: Batch) -> Tensor:
        few = sum(post.length for post in batch.posts) <= FEW_WORDS
        if self._few is None or not few or torch.is_grad_enabled() or not self.words.weight.is_cpu:
            return super().encode(batch)
        return self._encode_few(batch, self._few)

    def _encode_few(self, batch: Batch, read: FewReader) -> Tensor:
        """The same for the few words of questions that are being asked."""
        every = [
            [self._known_words(getattr(post, field), field) for post in batch.posts]
            for field in self.fields
        ]
        # a field without a known word is ignored: mostly all bodies of questions being asked
        used = [texts for texts in every if any(text != EMPTY for text in texts)] or every[:1]
        states = read([text for of_field in used for text in of_field])  # (F·B, d)
        states /= np.maximum(np.linalg.norm(states, axis=-1, keepdims=True), 1e-12)
        counts = np.array([[text != EMPTY for text in texts] for texts in used])[..., None]
        counts |= ~counts.any(0)  # (F, B, 1)
        vectors = states.reshape(len(counts), len(batch), -1) * counts  # (F, B, d)
        return torch.from_numpy(vectors.sum(0) / counts.sum(0, dtype=vectors.dtype))  # (B, d)

    def _known_words(self, codes: np.ndarray, field: Field) -> list[int]:
        """The known words of a text; one word of zeros if there is none."""
        known: list[int] = codes[codes > UNK].tolist()
        if field == "body" and self.config.body_words:
            known = known[: self.config.body_words]
        return known or EMPTY

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """How much of each word the first layer reads: mean of 1 - λ_t over its components."""
        sides: tuple[tuple[Side, Batch], ...] = (("query", query), ("candidate", candidate))
        if self.config.gate == "constant":
            return ()
        return [
            WordWeights("input gate", side, self.shares(batch, field).mean(-1), field)
            for side, batch in sides
            for field in self.fields
        ]

    @torch.no_grad()
    def shares(self, batch: Batch, field: Field) -> Tensor:
        """1 - λ_t of the first layer, per component; zero for a word that is unknown or cut off."""
        cell = self.layers[0]
        if not isinstance(cell, GatedConvolution):
            raise ConfigError(f"gate = {self.config.gate!r} has no weights per word")
        view, keep = self.known(batch, field)
        shares = cell.shares(self.inputs(view), view.mask)  # (B, T, d), or (B, T, 1)
        placed = shares.new_zeros(*keep.shape, shares.shape[-1])
        placed[keep] = shares[view.real]
        return placed  # (B, T of the field, d), or (..., 1)


def _discard(model: RCNN, _: object) -> None:
    model._few = None
