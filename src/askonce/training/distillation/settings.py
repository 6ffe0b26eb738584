"""The [distil] table of a recipe."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from askonce.config import AboveZero, AtLeastOne, AtLeastZero, NotNegative
from askonce.training.recipe import CROSS_ENCODER


@dataclass(frozen=True)
class AdapterSettings:
    """An adapter that is trained first, on the labels; loss and negatives are those of [train]."""

    options: Mapping[str, Any] = field(default_factory=dict)  # of the model, such as dropout
    epochs: AtLeastOne = 14
    patience: AtLeastOne = 4
    batch_size: AtLeastOne | None = None  # None: as in [train]
    rate: AboveZero = 3e-4


@dataclass(frozen=True)
class DistilSettings:
    """What a student learns from its teacher, before the labels and beside them."""

    teacher: str = "minilm"  # a sentence-transformers name or folder, or the folder of an adapter
    adapter: AdapterSettings | None = None  # learn the space of an adapter on this teacher
    options: Mapping[str, Any] = field(default_factory=dict)  # of the model before the labels
    # words of a bag: the mean of the vectors of their texts, or those of the starter (for MiniLM)
    start: Literal["texts", "starter"] = "texts"
    texts: AtLeastOne = (
        50_000  # titles, sentences and posts to learn from; a sample if there are more
    )
    sentences: bool = True  # split posts; not where every text is a sentence already
    epochs: AtLeastZero = 10  # over the texts
    patience: AtLeastOne = 2
    batch_size: AtLeastOne = 256
    rate: AboveZero = 2e-3
    matrix: NotNegative = 5.0  # weight of the similarities among the texts of a batch
    held_out: AboveZero = 0.05  # share of the texts that chooses the epoch
    kl: NotNegative = 1.0  # beside the labels: weight of the teacher's scores
    cosine: NotNegative = 1.0  # beside the labels: weight of the teacher's vectors


@dataclass(frozen=True)
class PairDistilSettings:
    """What a pair model learns beside the labels, from a cross-encoder tuned on the labels."""

    teacher: str = CROSS_ENCODER
    epochs: AtLeastOne = 2  # of tuning the teacher
    examples: AtLeastOne = 1_500  # of such an epoch
    loss: Literal["margin", "kl"] = "margin"
    weight: NotNegative = 1.0  # of this loss; that of the labels has 1
    mined: AtLeastZero = 0  # texts without a label that BM25 adds to each training pool

    @property
    def checkpoint(self) -> str | None:
        """The weights that the teacher starts from; None for MiniLM's."""
        return self.teacher.partition(":")[2] or None
