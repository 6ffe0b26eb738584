"""Trained rows as variants of recipes: what a name changes, and the resulting settings."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from statistics import stdev
from typing import Any

from askonce.bench.report.results import LEVEL, Result, ResultTable, train_split
from askonce.evaluation import compare


@dataclass(frozen=True)
class Variant:
    """A trained row, such as ``rcnn@model.pooling=mean@pretrain=false``."""

    result: Result

    @property
    def name(self) -> str:
        return self.result.model

    @property
    def recipe(self) -> str:
        return self.name.partition("@")[0]

    @cached_property
    def changes(self) -> dict[str, str]:
        """The settings that the name changes, with their values."""
        pairs = (change.partition("=") for change in self.name.split("@")[1:])
        return {key.strip(): value.strip() for key, _, value in pairs}

    @property
    def model(self) -> str:
        return str(self.result.first.recipe["model"])

    @property
    def pretrained(self) -> str:
        """``yes`` if it was pre-trained, else ``no``."""
        return "no" if self._settings.get("pretrain") is None else "yes"

    @cached_property
    def options(self) -> dict[str, Any]:
        """All settings of the model, including defaults that the recipe does not set."""
        from askonce.config import as_dict
        from askonce.models import MODELS

        defaults = as_dict(MODELS[self.model].Config()) if self.model in MODELS else {}
        return {**defaults, **self.result.first.recipe["options"]}

    @property
    def train_split(self) -> str:
        """The split it was trained on; by default TrecQA's TRAIN-ALL where there is one."""
        return str(train_split(self._settings, self.splits))

    @property
    def splits(self) -> dict[str, list[int]]:
        return dict(self.result.cells[0].settings["data"])

    @property
    def _settings(self) -> dict[str, Any]:
        return dict(self.result.cells[0].settings["row"])

    @property
    def untrained_name(self) -> str:
        """Its name without changes of the training: equal for rows that are the same model."""
        changes = self.name.split("@")[1:]
        return "@".join([self.recipe, *(c for c in changes if not c.startswith("train."))])

    def only_changes(self, *settings: str) -> bool:
        """Whether the name changes nothing but these."""
        return self.changes.keys() <= set(settings)


def variants(table: ResultTable) -> list[Variant]:
    trained = [Variant(result) for result in table.results if result.kind == "trained"]
    return sorted(trained, key=lambda variant: (len(variant.changes), variant.name))


def prefer_plain(variants: Iterable[Variant]) -> list[Variant]:
    """Each recipe without changes; all variants of a recipe that was not run without."""
    every = list(variants)
    plain = {variant.recipe for variant in every if not variant.changes}
    return [variant for variant in every if not variant.changes or variant.recipe not in plain]


def with_deviation(result: Result, metric: str) -> str:
    """The mean over seeds, and their standard deviation if there are several."""
    value = deviation(result, metric)
    return f"{result.mean(metric):.3f}" + ("" if value is None else f" ± {value:.3f}")


def deviation(result: Result, metric: str) -> float | None:
    values = [cell.figures[result.split]["metrics"][metric] for cell in result.cells]
    return stdev(values) if len(values) > 1 else None


def differs(one: Result, other: Result, metric: str) -> bool:
    """Whether two rows differ significantly: paired randomisation test over queries."""
    values, others = one.by_query(metric), other.by_query(metric)
    if len(values) < 2:
        return False
    (comparison,) = compare(values, {other.model: others})
    return comparison.randomisation < LEVEL
