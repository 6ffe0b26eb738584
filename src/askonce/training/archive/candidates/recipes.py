"""The recipes of the models that are trained on an archive: files of ``training/defaults``."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from askonce.config import read_toml
from askonce.teachers import CachedTeacher
from askonce.training.defaults import DISTANCES, FOLDER
from askonce.training.distillation.settings import DistilSettings
from askonce.training.pretraining.encoder_decoder import PretrainSettings
from askonce.training.recipe import Recipe, recipe_of

LabelKind = Literal["questions", "titles", "answers"]

ENCODERS: dict[LabelKind, dict[str, Any]] = {
    kind: read_toml(FOLDER / "archive" / f"{kind}.toml") for kind in get_args(LabelKind)
}
# Over a teacher's vectors, so an epoch takes about a second. It overfits after a few epochs: dev
# stops it, and the teacher as it comes (epoch 0) is kept if nothing is better.
ADAPTER = read_toml(FOLDER / "adapter.toml")
STUDENT = read_toml(FOLDER / "archive" / "student.toml")
PAIR = read_toml(FOLDER / "archive" / "pair.toml")
POSITIVES = 3  # of a question in an epoch, so that no large cluster of duplicates decides
MAX_BATCH, MIN_STEPS = 128, 10  # the largest batch; a small archive gets this many steps
# On the built-in archive (1,900 texts; questions of dev, n=11, MAP with MiniLM's vectors of posts),
# six epochs from the starter: queries by the student .549; from the mean vectors of the texts .166.
DISTIL = DistilSettings(texts=30_000, epochs=20)
PRETRAINING = PretrainSettings(epochs=8, patience=3, batch_size=64)


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
