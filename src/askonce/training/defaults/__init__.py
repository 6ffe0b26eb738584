"""Default recipes, for data that has none of its own: one for each kind of model."""

from pathlib import Path

from askonce.models import MODELS

STUDENT = "student"  # the name of a recipe; its model is the bag
ROWS = ("adapter", STUDENT, "hyperqa", "qa-cnn", "compare-aggregate")  # of a bench without recipes
DISTANCES = ("hyperqa", "euclidqa")  # models whose scores need no scale


def default_recipe(name: str) -> tuple[Path, list[str]] | None:
    """The file of the default recipe of a model, and what to change in it; None if unknown."""
    folder = Path(__file__).parent
    if name == STUDENT:
        return folder / "student.toml", []
    if name not in MODELS:
        return None
    from askonce.models.base import Encoder  # with torch

    model = MODELS.resolve(name)
    if MODELS[model].reads == "vectors":
        return folder / "adapter.toml", []
    kind = "encoder" if issubclass(MODELS[model], Encoder) else "pair"
    changes = [f"model.name={model}"]
    return folder / f"{kind}.toml", changes + ["train.scale=1.0"] * (model in DISTANCES)
