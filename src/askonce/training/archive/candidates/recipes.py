"""The recipes of the models that are trained on an archive."""

from collections.abc import Mapping
from typing import Any, Literal

from askonce.teachers import CachedTeacher
from askonce.training.defaults import DISTANCES
from askonce.training.distillation.settings import DistilSettings
from askonce.training.pretraining.encoder_decoder import PretrainSettings
from askonce.training.recipe import Recipe, recipe_of

COSINE_SCALE = 20.0  # a cosine lies in -1 … 1; the softmax needs a wider range

LabelKind = Literal["questions", "titles", "answers"]

# Similar questions: RCNN as in paper 002, pre-trained on all posts, then tuned on the marked ones.
# Where there are too few bodies to pre-train on, CosineQA: it starts as the sum of word vectors,
# which a few hundred marks do not spoil, while a recurrent encoder would start from random weights.
# Answers: QA-CNN against the right answers of the other questions of the batch, which needs no
# sampled negatives and on InsuranceQA gains most within minutes.
ENCODERS: dict[LabelKind, dict[str, Any]] = {
    "questions": {
        "model": {"name": "rcnn", "dim": 200},
        "train": {
            "loss": "max_margin",
            "margin": 0.5,
            "negatives": {"source": "pool", "count": 20},
            "batch_size": 20,
            "epochs": 15,
            "l2": 1e-5,
            "l2_form": "norm",
        },
    },
    "titles": {
        "model": {"name": "cosineqa", "dim": 100, "score": "raw"},
        "train": {
            "loss": "softmax",
            "scale": COSINE_SCALE,
            "negatives": {"source": "pool", "count": 10},
            "batch_size": 20,
            "epochs": 15,
            "rate": 3e-4,
        },
    },
    "answers": {
        "model": {"name": "qa-cnn"},
        "train": {
            "loss": "softmax",
            "scale": COSINE_SCALE,
            "negatives": {"source": "batch"},
            "batch_size": 64,
            "epochs": 15,
            "clip": 5.0,
        },
    },
}
# Over a teacher's vectors, so an epoch takes about a second. It overfits after a few epochs: dev
# stops it, and the teacher as it comes (epoch 0) is kept if nothing is better.
ADAPTER: dict[str, Any] = {
    "model": {"name": "adapter", "dropout": 0.3},
    "train": {
        "loss": "softmax",
        "scale": COSINE_SCALE,
        "negatives": {"source": "batch", "hard": 3},
        "epochs": 12,
        "patience": 3,
        "rate": 3e-4,
    },
}
POSITIVES = 3  # of a question in an epoch, so that no large cluster of duplicates decides
MAX_BATCH, MIN_STEPS = 128, 10  # the largest batch; a small archive gets this many steps
# A bag of words in the space of the teacher or of the adapter: a lookup, a sum and a small map per
# text. With the map's residual layer, a student of WikiQA has dev MAP .732 instead of .707 before
# the labels, and .776 instead of .767 after them (126 questions, one seed).
STUDENT_HIDDEN = 512
STUDENT: dict[str, Any] = {
    "model": {"name": "bag", "hidden": STUDENT_HIDDEN},
    "train": {
        "loss": "softmax",
        "scale": COSINE_SCALE,
        "negatives": {"source": "batch", "hard": 3},
        "epochs": 14,
        "patience": 4,
        "rate": 5e-4,
    },
}
# On the built-in archive (1,900 texts; questions of dev, n=11, MAP with MiniLM's vectors of posts),
# six epochs from the starter: queries by the student .549; from the mean vectors of the texts .166.
DISTIL = DistilSettings(texts=30_000, epochs=20)
PRETRAINING = PretrainSettings(epochs=8, patience=3, batch_size=64)

# Small enough to read 50 candidates with a question in about 15 ms on one core.
PAIR: dict[str, Any] = {
    "model": {"name": "compare-aggregate", "dim": 50, "widest": 3, "overlap": True},
    "text": {"max_words": 60},
    "train": {
        "loss": "softmax",
        "negatives": {"source": "pool", "count": 4},
        "batch_size": 32,
        "optimiser": "adamax",
        "rate": 0.002,
        "epochs": 8,
        "patience": 2,
    },
}


def encoder_recipe(kind: LabelKind, dataset: str, seed: int, model: str | None = None) -> Recipe:
    """The recipe of an encoder; ``model`` replaces the default one."""
    tables = ENCODERS[kind]
    if model is not None:
        tables = {"model": {"name": model}, "train": dict(tables["train"])}
        if model in DISTANCES:
            tables["train"].pop("scale", None)
    return _recipe(tables, dataset, seed)


def adapter_recipe(
    dataset: str, seed: int, teacher: CachedTeacher, sides: int, questions: int
) -> Recipe:
    tables = {
        "model": {**ADAPTER["model"], "dim": teacher.dim, "sides": sides},
        "text": {"teacher": teacher.record.source},
        "train": {**ADAPTER["train"], "batch_size": _batch_size(questions)},
    }
    return _recipe(tables, dataset, seed)


def student_recipe(dataset: str, seed: int, sides: int, questions: int) -> Recipe:
    tables = {
        "model": {**STUDENT["model"], "sides": sides},
        "train": {**STUDENT["train"], "batch_size": _batch_size(questions)},
    }
    return _recipe(tables, dataset, seed)


def pair_recipe(dataset: str, seed: int) -> Recipe:
    return _recipe(PAIR, dataset, seed)


def _batch_size(questions: int) -> int:
    return max(8, min(MAX_BATCH, questions // MIN_STEPS))


def _recipe(tables: Mapping[str, Any], dataset: str, seed: int) -> Recipe:
    train = {"positives": POSITIVES, **tables["train"], "seed": seed}
    return recipe_of({**tables, "dataset": dataset, "train": train}, "the recipe of an archive")
