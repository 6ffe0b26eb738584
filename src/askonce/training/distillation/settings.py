"""The [distil] table of a recipe."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from askonce.config import above_zero, at_least
from askonce.training.recipe import CROSS_ENCODER


@dataclass(frozen=True)
class AdapterSettings:
    """An adapter that is trained first, on the labels; loss and negatives are those of [train]."""

    options: Mapping[str, Any] = field(default_factory=dict)  # of the model, such as dropout
    epochs: int = 14
    patience: int = 4
    batch_size: int | None = None  # None: as in [train]
    rate: float = 3e-4

    def __post_init__(self) -> None:
        at_least(self, "distil.adapter", 1, "epochs", "patience", "batch_size")
        above_zero(self, "distil.adapter", "rate")


@dataclass(frozen=True)
class DistilSettings:
    """What a student learns from its teacher, before the labels and beside them."""

    teacher: str = "minilm"  # a sentence-transformers name or folder, or the folder of an adapter
    adapter: AdapterSettings | None = None  # learn the space of an adapter on this teacher
    options: Mapping[str, Any] = field(default_factory=dict)  # of the model before the labels
    # words of a bag: the mean of the vectors of their texts, or those of the starter (for MiniLM)
    start: Literal["texts", "starter"] = "texts"
    texts: int = 50_000  # titles, sentences and posts to learn from; a sample if there are more
    sentences: bool = True  # split posts; not where every text is a sentence already
    epochs: int = 10  # over the texts
    patience: int = 2
    batch_size: int = 256
    rate: float = 2e-3
    matrix: float = 5.0  # weight of the similarities among the texts of a batch
    held_out: float = 0.05  # share of the texts that chooses the epoch
    kl: float = 1.0  # beside the labels: weight of the teacher's scores
    cosine: float = 1.0  # beside the labels: weight of the teacher's vectors

    def __post_init__(self) -> None:
        at_least(self, "distil", 0, "epochs", "matrix", "kl", "cosine")
        at_least(self, "distil", 1, "texts", "patience", "batch_size")
        above_zero(self, "distil", "rate", "held_out")


@dataclass(frozen=True)
class PairDistilSettings:
    """What a pair model learns beside the labels, from a cross-encoder tuned on the labels."""

    teacher: str = CROSS_ENCODER
    epochs: int = 2  # of tuning the teacher
    examples: int = 1_500  # of such an epoch
    loss: Literal["margin", "kl"] = "margin"
    weight: float = 1.0  # of this loss; that of the labels has 1
    mined: int = 0  # texts without a label that BM25 adds to each training pool

    def __post_init__(self) -> None:
        at_least(self, "distil", 0, "weight", "mined")
        at_least(self, "distil", 1, "epochs", "examples")

    @property
    def checkpoint(self) -> str | None:
        """The weights that the teacher starts from; None for MiniLM's."""
        return self.teacher.partition(":")[2] or None
