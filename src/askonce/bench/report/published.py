"""The papers' own figures, by the names of our rows, each with the conditions it was reached under.

All of them are in ``published.toml``. A figure is compared with a row of ours only if every
condition is the same; ``Published.unlike`` lists those that are not.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from askonce.config import settings
from askonce.types import ProtocolName

# changes that the name of a published row does not have: those that are conditions, and how a row
# was trained, which papers tune too
NOT_IN_NAMES = ("train.", "model.overlap", "model.flags")
DATA_NAMES = {"askubuntu": "AskUbuntu", "insuranceqa-v1": "InsuranceQA V1"}


@dataclass(frozen=True)
class Conditions:
    """What a figure depends on besides the model; None is not known or does not matter."""

    dataset: str
    protocol: str | None = None
    test_pairs: int | None = None
    train: str | None = None
    features: frozenset[str] | None = None
    weights: str | None = None

    def unlike(self, ours: "Conditions") -> list[str]:
        """Each condition in which a published figure differs from ours, as a phrase."""
        if self.dataset != ours.dataset:  # nothing else is worth comparing
            return [f"on {DATA_NAMES.get(self.dataset, self.dataset)}"]
        return [
            phrase
            for value, own, phrase in (
                (self.test_pairs, ours.test_pairs, f"on {self.test_pairs} test pairs, not "
                 f"{ours.test_pairs}"),
                (self.train, ours.train, f"trained on {self.train}, not {ours.train}"),
                (self.features, ours.features, f"features {_listed(self.features)}, not "
                 f"{_listed(ours.features)}"),
                (self.weights, ours.weights, f"weights of {self.weights}, not {ours.weights}"),
            )
            if value is not None and own is not None and value != own
        ]  # fmt: skip


@dataclass(frozen=True)
class Published:
    value: float
    source: str  # paper and table
    unlike: tuple[str, ...] = ()  # conditions that differ from ours; with any, it compares nothing

    @property
    def text(self) -> str:
        """The number, in brackets if it is not comparable."""
        return f"({self.value:.3f})" if self.unlike else f"{self.value:.3f}"


@dataclass(frozen=True, kw_only=True)
class PublishedTable(Conditions):
    source: str
    metrics: tuple[str, ...]
    rows: Mapping[str, tuple[float, ...]]
    cited: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # without a row here
    beside: tuple[str, ...] = ()
    protocol: ProtocolName | None = None


@cache
def published_tables() -> tuple[PublishedTable, ...]:
    text = files("askonce.bench.report").joinpath("published.toml").read_text("utf-8")
    tables: list[dict[str, Any]] = tomllib.loads(text)["table"]
    return tuple(settings(PublishedTable, table) for table in tables)


def published(ours: Conditions, model: str, metric: str) -> Published | None:
    """What the papers print for this row; of several numbers the one most like ours."""
    name, printed = plain_name(model), []
    for table in published_tables():
        shown = ours.dataset == table.dataset or ours.dataset in table.beside
        same_questions = ours.dataset != table.dataset or table.protocol in (None, ours.protocol)
        if shown and same_questions and name in table.rows and metric in table.metrics:
            value = table.rows[name][table.metrics.index(metric)]
            printed.append(Published(value, table.source, tuple(table.unlike(ours))))
    return min(printed, key=lambda one: len(one.unlike), default=None)


def plain_name(model: str) -> str:
    """The name of a row without conditions and settings of its training."""
    recipe, *changes = model.split("@")
    return "@".join([recipe, *(c for c in changes if not c.startswith(NOT_IN_NAMES))])


def _listed(features: frozenset[str] | None) -> str:
    return " and ".join(sorted(features or ())) or "none"
