"""Recipes: the settings of a training, as typed tables of a TOML file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from askonce.config import (
    AboveZero,
    AtLeastOne,
    AtLeastZero,
    NotNegative,
    read_toml,
    settings,
)
from askonce.errors import ConfigError
from askonce.models import MODELS

CROSS_ENCODER = "cross-encoder"  # as teacher: MiniLM's weights, tuned; ":NAME" for other weights
LossName = Literal["hinge", "max_margin", "cross_entropy", "softmax"]
NegativeSource = Literal["pool", "corpus", "mix", "batch", "all"]


@dataclass(frozen=True)
class TextSettings:
    """How texts become token ids and vectors."""

    min_count: AtLeastOne = 1  # rarer words are unknown
    max_words: AtLeastOne | None = 200  # of the title and of the body; the rest is dropped
    vectors: Literal["file", "skipgram", "fused", "random", "starter", "contextual"] = "file"
    dim: AtLeastOne | None = (
        None  # of the vectors; 100 by default, all that a file or the starter has
    )
    teacher: str = "minilm"  # of models that read vectors, and of contextual words: name or folder


@dataclass(frozen=True)
class Negatives:
    """Where the negatives of a group come from.

    ``pool``: the query's own pool. ``corpus``: any text of the corpus. ``mix``: half the hardest of
    the pool under the model at the start of the epoch, half random from the pool (HyperQA).
    ``batch``: the right answers of the other queries of the batch, or ``others`` of them, and
    ``hard`` of each query's own pool. ``all``: the whole pool as labelled, without sampling.
    """

    source: NegativeSource = "pool"
    count: AtLeastOne = 4  # negatives in a group
    hardest_of: AtLeastZero = (
        0  # draw this many, keep the ``count`` that score highest now; 0 keeps all
    )
    grow: AtLeastZero = 0  # epochs in which the number drawn grows from ``count`` to ``hardest_of``
    hard: AtLeastZero = 0  # with ``batch``: negatives that each query brings from its own pool
    others: AtLeastZero = (
        0  # limit for ``batch``, since a model that reads pairs reads each; 0 takes all
    )
    unanswered: bool = False  # with ``all``: also questions without a right candidate

    def drawn(self, epoch: int) -> int:
        """How many negatives a group is drawn with in an epoch, before the hardest are kept."""
        most = max(self.count, self.hardest_of)
        if epoch > self.grow:
            return most
        return self.count + (most - self.count) * (epoch - 1) // self.grow


@dataclass(frozen=True)
class TrainSettings:
    """Loss, negatives, optimiser and length of the training."""

    loss: LossName = "hinge"
    # what the loss of a batch is the mean over; over pairs, questions with many candidates count
    # more, as in cross-entropy as the papers print it (CTRN eq. 3, CABIN section 4.3)
    average: Literal["questions", "pairs"] = "questions"
    margin: float = 1.0
    scale: AboveZero = 1.0  # multiplies scores before the loss; a softmax over cosines needs it
    negatives: Negatives = field(default_factory=Negatives)
    # right candidates of a question in an epoch, drawn anew for each; None takes all. Where
    # clusters of duplicates are large, all pairs would be mostly those of the largest cluster
    positives: AtLeastOne | None = None
    split: str | None = None  # to train on; None is the dataset's training split
    epochs: AtLeastOne = 10
    batch_size: AtLeastOne = 50  # groups: a group is a query, a right candidate and its negatives
    optimiser: Literal["adam", "adamax", "adagrad", "rmsprop", "sgd"] = "adam"
    rate: AboveZero = 1e-3
    schedule: Literal["constant", "inverse", "halving"] = "constant"  # rate, rate/epoch, or halved
    halve_every: AtLeastOne = 5  # epochs
    l2: NotNegative = 0.0
    l2_form: Literal["squared", "norm"] = "squared"  # λ Σ‖p‖², or λ Σ‖p‖ as RCNN's authors
    clip: AboveZero | None = None  # largest norm of the gradient
    # decay, such as 0.99, of a running mean of the weights over steps; the mean is measured on dev
    # and saved. 0: the weights themselves
    mean: float = 0.0
    # from the same weights, with other random orders and dropout; their mean is the model
    trainings: AtLeastOne = 1
    patience: AtLeastOne = 5  # epochs without a better ``watch`` on dev before stopping
    watch: Literal["MAP", "MRR", "P@1", "P@5", "nDCG@10"] = "MAP"
    dev: AtLeastOne | None = (
        None  # dev questions that choose the epoch, spread evenly; None for all
    )
    seed: AtLeastZero = 1

    def __post_init__(self) -> None:
        if not 0 <= self.mean < 1:
            raise ConfigError(f"train.mean = {self.mean}; expected a decay from 0 to below 1")
        pointwise = self.loss == "cross_entropy" and self.negatives.source == "all"
        if not pointwise and (self.average == "pairs" or self.negatives.unanswered):
            raise ConfigError(
                "train.average = 'pairs' and train.negatives.unanswered need "
                "train.loss = 'cross_entropy' and train.negatives.source = 'all'; "
                f"found {self.loss!r} and {self.negatives.source!r}"
            )


@dataclass(frozen=True)
class Recipe:
    model: str
    dataset: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)  # the model's own settings
    text: TextSettings = field(default_factory=TextSettings)
    train: TrainSettings = field(default_factory=TrainSettings)


def read_recipe(path: Path, changes: Sequence[str] = ()) -> Recipe:
    """A recipe from TOML, with changes of the form ``train.rate=0.01`` applied."""
    return recipe_of(_changed(read_toml(path), changes), str(path))


def read_table(path: Path, name: str, changes: Sequence[str] = ()) -> dict[str, Any] | None:
    """Another table of a recipe, such as [pretrain]; None without it or with ``pretrain=false``."""
    table = _changed(read_toml(path), changes).get(name, False)
    if table is False:
        return None
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: expected a [{name}] table, found {table!r}")
    return table


class Before(NamedTuple):
    """The tables of what comes before fine-tuning or, with a cross-encoder, beside it."""

    pretrain: dict[str, Any] | None = None
    distil: dict[str, Any] | None = None


def by_pairs(distil: Mapping[str, Any]) -> bool:
    """Whether the teacher of this table scores pairs, so that the student is a pair model."""
    return str(distil.get("teacher", "")).partition(":")[0] == CROSS_ENCODER


def read_before(path: Path, changes: Sequence[str] = ()) -> Before:
    """The [pretrain] and [distil] tables of a recipe; a student of vectors is not pre-trained."""
    before = Before(read_table(path, "pretrain", changes), read_table(path, "distil", changes))
    if None not in before and not by_pairs(before.distil or {}):
        raise ConfigError(f"{path}: expected [pretrain] or [distil], not both")
    return before


def recipe_of(tables: Mapping[str, Any], where: str = "recipe") -> Recipe:
    """A recipe from its tables; every name and value is checked, the model's settings too."""
    tables = dict(tables)
    model = tables.pop("model", None)
    for other in ("pretrain", "distil", "tune"):  # tables of the commands with these names
        tables.pop(other, None)
    name, options = (model, {}) if isinstance(model, str) else _model_table(model, where)
    kind = MODELS[name]
    settings(kind.Config, options, "model.")
    plain = settings(_Tables, tables)
    return Recipe(MODELS.resolve(name), plain.dataset, options, plain.text, plain.train)


@dataclass(frozen=True)
class _Tables:
    dataset: str | None = None
    about: str = ""  # where the numbers come from, for readers of the file
    text: TextSettings = field(default_factory=TextSettings)
    train: TrainSettings = field(default_factory=TrainSettings)


def dataset_of(recipe: Recipe, path: Path) -> str:
    if recipe.dataset is None:
        raise ConfigError(f"{path}: expected a dataset; add a line like dataset = 'wikiqa'")
    return recipe.dataset


def _model_table(table: Any, where: str) -> tuple[str, dict[str, Any]]:  # noqa: ANN401 - from TOML
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise ConfigError(f"{where}: expected a [model] table with a name")
    options = dict(table)
    return options.pop("name"), options


def _changed(tables: dict[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals:
            raise ConfigError(f"--set {change!r}; expected a form like train.rate=0.01")
        *path, last = key.strip().split(".")
        table = tables
        for name in path:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise ConfigError(f"--set {change!r}; {name!r} is a value, not a table")
        table[last] = _value(value.strip())
    return tables


def _value(text: str) -> Any:  # noqa: ANN401 - any TOML value
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a bare word is a string
