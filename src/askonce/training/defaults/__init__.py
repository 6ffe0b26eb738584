"""Default recipes, for data that has none of its own: one for each kind of model.

``archive/`` has those of `askonce train ARCHIVE`.
"""

from pathlib import Path

from askonce.models import MODELS

FOLDER = Path(__file__).parent
STUDENT = "student"  # the name of a recipe; its model is the bag
ROWS = ("adapter", STUDENT, "hyperqa", "qa-cnn", "compare-aggregate")  # of a bench without recipes
DISTANCES = ("hyperqa", "euclidqa")  # models whose scores need no scale


def default_recipe(name: str) -> tuple[Path, list[str]] | None:
    """The file of the default recipe of a model, and what to change in it; None if unknown."""
    if name == STUDENT:
        return FOLDER / "student.toml", []
    if name not in MODELS:
        return None
    from askonce.models.base import Encoder  # with torch

    model = MODELS.resolve(name)
    if MODELS[model].reads == "vectors":
        return FOLDER / "adapter.toml", []
    kind = "encoder" if issubclass(MODELS[model], Encoder) else "pair"
    changes = [f"model.name={model}"]
    return FOLDER / f"{kind}.toml", changes + ["train.scale=1.0"] * (model in DISTANCES)
