"""Trained rows as variants of recipes: what a name changes, and the settings that come of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from statistics import stdev
from typing import Any

from askonce.bench.report.results import LEVEL, Line, ResultTable
from askonce.evaluation import compare


@dataclass(frozen=True)
class Variant:
    """A trained row, such as ``rcnn@model.pooling=mean@pretrain=false``."""

    line: Line

    @property
    def name(self) -> str:
        """Its whole name."""
        return self.line.model

    @property
    def recipe(self) -> str:
        """Its name without changes."""
        return self.name.partition("@")[0]

    @cached_property
    def changes(self) -> dict[str, str]:
        """What the name changes, by setting."""
        pairs = (change.partition("=") for change in self.name.split("@")[1:])
        return {key.strip(): value.strip() for key, _, value in pairs}

    @property
    def model(self) -> str:
        """The model of the recipe."""
        return str(self._row["recipe"]["model"])

    @property
    def pretrained(self) -> bool:
        """Whether it was pre-trained."""
        return self._row.get("pretrain") is not None

    @cached_property
    def options(self) -> dict[str, Any]:
        """All settings of the model, those too that the recipe leaves as they are."""
        from askonce.config import as_dict
        from askonce.models import MODELS

        defaults = as_dict(MODELS[self.model].Config()) if self.model in MODELS else {}
        return {**defaults, **self._row["recipe"]["options"]}

    @property
    def train_split(self) -> str:
        """The split that it learned from; where there are two, TrecQA's TRAIN-ALL is the usual."""
        named = self._row["recipe"]["train"]["split"]
        own = "train-all" if "train-all" in self.splits else "train"
        return str(named or own)

    @property
    def splits(self) -> dict[str, list[int]]:
        """Questions and candidates of each split."""
        return dict(self.line.cells[0].settings["data"])

    @property
    def _row(self) -> dict[str, Any]:
        return dict(self.line.cells[0].settings["row"])

    def without(self, *settings: str) -> str:
        """Its name without changes of these settings: equal for rows that differ in them alone."""
        changes = self.name.split("@")[1:]
        return "@".join([self.recipe, *(c for c in changes if c.partition("=")[0] not in settings)])

    def only_changes(self, *settings: str) -> bool:
        """Whether the name changes nothing but these."""
        return self.changes.keys() <= set(settings)


def variants(table: ResultTable) -> list[Variant]:
    """The trained rows of a table, those with fewer changes first."""
    found = [Variant(line) for line in table.lines if line.kind == "trained"]
    return sorted(found, key=lambda variant: (len(variant.changes), variant.name))


def plain_if_any(found: Iterable[Variant]) -> list[Variant]:
    """Each recipe as it is; of one that was not run so, all variants."""
    every = list(found)
    plain = {variant.recipe for variant in every if not variant.changes}
    return [variant for variant in every if not variant.changes or variant.recipe not in plain]


def with_spread(line: Line, metric: str) -> str:
    """The mean over seeds, and their standard deviation where there are several."""
    spread = deviation(line, metric)
    return f"{line.mean(metric):.3f}" + ("" if spread is None else f" ± {spread:.3f}")


def deviation(line: Line, metric: str) -> float | None:
    """The standard deviation over seeds."""
    values = [cell.figures[line.split]["metrics"][metric] for cell in line.cells]
    return stdev(values) if len(values) > 1 else None


def differs(one: Line, other: Line, metric: str) -> bool:
    """Whether two rows differ beyond chance: paired randomisation over queries."""
    values, others = one.by_query(metric), other.by_query(metric)
    if len(values) < 2:
        return False
    (found,) = compare(values, {other.model: others})
    return found.randomisation < LEVEL
