"""RCNN (Lei et al. 2016, "Semi-supervised Question Retrieval with Gated Convolutions")."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from askonce.config import at_least, below_one
from askonce.errors import ConfigError
from askonce.models import MODELS
from askonce.models.base import Side, WordWeights
from askonce.models.layers.cells import Cell, DecayedConvolution
from askonce.models.layers.gated_convolution import GatedConvolution
from askonce.models.question_encoders import Field, QuestionConfig, QuestionEncoder
from askonce.text.batch import Batch


@MODELS.add("rcnn")
class RCNN(QuestionEncoder):
    """Question encoder with a gated convolution, which learns how much of each word to take in."""

    @dataclass(frozen=True)
    class Config(QuestionConfig):
        order: int = 2  # table 3, n-grams of the filters
        gate: Literal["vector", "scalar", "constant"] = (
            "vector"  # scalar: figure 4; constant: Lei 2015
        )
        decay: float = 0.5  # of the constant gate; the paper names no value

        def __post_init__(self) -> None:
            super().__post_init__()
            at_least(self, "model", 2, "order")
            below_one(self, "model", "decay")

    config: Config

    def layer(self, input_dim: int) -> Cell:
        dim, order, gate = self.config.dim, self.config.order, self.config.gate
        if gate == "constant":
            return DecayedConvolution(input_dim, dim, order, self.config.decay)
        return GatedConvolution(input_dim, dim, order, scalar=gate == "scalar")

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
